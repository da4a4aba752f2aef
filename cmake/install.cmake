# What `cmake --install` puts where, and the Debian package of the same.
include(CMakePackageConfigHelpers)

set(files ${CMAKE_BINARY_DIR}/install)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/RuleEngine)
# What the archive needs of others: Debian has no archive of libunistring whose
# code fits into every program, and zlib is one that programs often have.
set(RULEENGINE_STATIC_LIBRARIES unistring z stdc++ m dl pthread)
list(TRANSFORM RULEENGINE_STATIC_LIBRARIES PREPEND -l
     OUTPUT_VARIABLE RULEENGINE_STATIC_FLAGS)
list(JOIN RULEENGINE_STATIC_FLAGS " " RULEENGINE_STATIC_FLAGS)

configure_package_config_file(cmake/RuleEngineConfig.cmake.in
  ${files}/RuleEngineConfig.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR
  NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${files}/RuleEngineConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
# From the folder of the package files to the prefix.
file(RELATIVE_PATH RULEENGINE_PC_PREFIX
     ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
foreach(name ruleengine ruleengine-static)
  configure_file(cmake/${name}.pc.in ${files}/${name}.pc @ONLY)
endforeach()

install(TARGETS ruleengine RUNTIME)
install(TARGETS ruleengine_shared LIBRARY)
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

set(pages ${CMAKE_BINARY_DIR}/pages)
install(FILES ${pages}/ruleengine.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${pages}/ruleengine.bash RENAME ruleengine
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${pages}/_ruleengine
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${pages}/ruleengine.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES LICENSE RENAME copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
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
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "graphviz, g++, cmake, pkg-config, zlib1g-dev, libunistring-dev")
include(CPack)
