# What `cmake --install` puts where, and the Debian package of the same.
include(CMakePackageConfigHelpers)

set(files ${CMAKE_BINARY_DIR}/install)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/RuleEngine)
# What the archive needs of others: libunistring, which users may replace, and
# zlib, which programs often have.
set(RULEENGINE_STATIC_FLAGS "-lunistring -lz -lstdc++ -lm -ldl -lpthread")

configure_package_config_file(cmake/RuleEngineConfig.cmake.in
  ${files}/RuleEngineConfig.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${files}/RuleEngineConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
# Relative, so that what is installed may be moved.
foreach(dir LIBDIR INCLUDEDIR)
  file(RELATIVE_PATH RULEENGINE_PC_${dir}
       ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_FULL_${dir}})
endforeach()
foreach(name ruleengine ruleengine-static)
  configure_file(cmake/${name}.pc.in ${files}/${name}.pc @ONLY)
endforeach()

install(TARGETS ruleengine RUNTIME)
install(TARGETS ruleengine_shared EXPORT RuleEngineTargets LIBRARY)
install(EXPORT RuleEngineTargets NAMESPACE RuleEngine:: DESTINATION ${package_dir})
install(FILES ${CMAKE_BINARY_DIR}/libruleengine.a
        DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES bindings/c/ruleengine.h bindings/c/ruleengine.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${files}/RuleEngineConfig.cmake
              ${files}/RuleEngineConfigVersion.cmake
        DESTINATION ${package_dir})
install(FILES ${files}/ruleengine.pc ${files}/ruleengine-static.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY rules DESTINATION ${CMAKE_INSTALL_DATADIR}/ruleengine
        FILES_MATCHING PATTERN "*.lua")
install(FILES ${RULEENGINE_REFERENCE}
        DESTINATION ${CMAKE_INSTALL_DATADIR}/ruleengine/docs)
install(FILES ${CMAKE_BINARY_DIR}/lua/ruleengine.lua
        DESTINATION ${CMAKE_INSTALL_DATADIR}/ruleengine/lua)

set(pages ${CMAKE_BINARY_DIR}/pages)
install(FILES ${pages}/ruleengine.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${pages}/ruleengine.bash RENAME ruleengine
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${pages}/_ruleengine
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${pages}/ruleengine.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES cmake/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES docs/embedding.md examples/flops.c examples/lower.cc
        DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ruleengine)
set(CPACK_PACKAGE_CONTACT "The ruleengine authors <authors@ruleengine.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "rewrites ONNX graphs with rules in Lua")
set(CPACK_PACKAGE_DESCRIPTION
    "A program, a C and C++ library, and rules that fuse and simplify models.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "graphviz, g++, cmake, pkg-config, zlib1g-dev, libunistring-dev")
include(CPack)
