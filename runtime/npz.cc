#include "runtime/npz.h"

#include <minizip/unzip.h>
#include <minizip/zip.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>

#include "runtime/conversions.h"
#include "runtime/failure.h"
#include "runtime/npy.h"

namespace ruleengine::runtime {
namespace {

Diagnostic of_file(std::string what, const std::string& path) {
  return {.kind = ErrorKind::kUsage,
          .what = std::move(what),
          .where = path,
          .hint = "numpy.savez(path, name=array, ...)"};
}

// The size of a name has two bytes.
constexpr std::size_t kMostName = std::size_t{1} << 16;

// The flag of a member whose name is UTF-8 (APPNOTE 4.4.4, bit 11).
constexpr uLong kUtf8Names = 1u << 11;

// A file of minizip's that lies in memory: an archive is written whole or not
// at all, by whoever has its bytes.
struct MemoryFile {
  std::string bytes;
  std::size_t at = 0;
};

MemoryFile& file_of(void* stream) { return *static_cast<MemoryFile*>(stream); }

zlib_filefunc64_def in_memory(MemoryFile& file) {
  zlib_filefunc64_def out = {};
  out.opaque = &file;
  out.zopen64_file = [](void* opaque, const void*, int) { return opaque; };
  out.zread_file = [](void*, void* stream, void* to, uLong size) -> uLong {
    MemoryFile& f = file_of(stream);
    size = std::min<uLong>(size, f.bytes.size() - f.at);
    std::memcpy(to, f.bytes.data() + f.at, size);
    f.at += size;
    return size;
  };
  out.zwrite_file = [](void*, void* stream, const void* from,
                       uLong size) -> uLong {
    MemoryFile& f = file_of(stream);
    try {
      if (f.bytes.size() < f.at + size) f.bytes.resize(f.at + size);
    } catch (const std::exception&) {
      return 0;  // exceptions must not pass through minizip
    }
    std::memcpy(f.bytes.data() + f.at, from, size);
    f.at += size;
    return size;
  };
  out.ztell64_file = [](void*, void* stream) -> ZPOS64_T {
    return file_of(stream).at;
  };
  out.zseek64_file = [](void*, void* stream, ZPOS64_T offset,
                        int origin) -> long {
    MemoryFile& f = file_of(stream);
    const std::size_t base = origin == ZLIB_FILEFUNC_SEEK_CUR   ? f.at
                             : origin == ZLIB_FILEFUNC_SEEK_END ? f.bytes.size()
                                                                : 0;
    if (base + offset > f.bytes.size()) return -1;
    f.at = base + offset;
    return 0;
  };
  out.zclose_file = [](void*, void*) { return 0; };
  out.zerror_file = [](void*, void*) { return 0; };
  return out;
}

// minizip takes an archive without members for a damaged one. Such an archive
// is the end record of a directory and nothing else (APPNOTE 4.3.16).
bool has_no_members(const std::string& path) {
  constexpr std::size_t kEnd = 22;
  std::string bytes(kEnd + 1, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  // All after the signature is 0: disks, members, sizes, the comment.
  return file.gcount() == kEnd && bytes.starts_with("PK\5\6") &&
         bytes.find_first_not_of('\0', 4) == std::string::npos;
}

// Name and content of the current member.
Result<std::pair<std::string, std::string>> read_member(
    unzFile zip, std::size_t limit, const std::string& path) {
  unz_file_info64 info;
  std::string name(kMostName, '\0');
  if (unzGetCurrentFileInfo64(zip, &info, name.data(), name.size(), nullptr, 0,
                              nullptr, 0) != UNZ_OK) {
    return of_file("the archive is damaged", path);
  }
  name.resize(info.size_filename);
  if (info.uncompressed_size > limit) {
    return Diagnostic{.kind = ErrorKind::kLimit,
                      .what = "the archive is too large",
                      .where = path,
                      .remedy = Remedy::kTensors};
  }
  if (unzOpenCurrentFile(zip) != UNZ_OK) {
    return of_file("the archive is damaged", path);
  }
  // The directory may lie about the size: no more is taken than comes.
  std::string bytes;
  std::vector<char> piece(
      std::min<std::size_t>(info.uncompressed_size, std::size_t{1} << 24));
  while (bytes.size() < info.uncompressed_size) {
    const int got = unzReadCurrentFile(zip, piece.data(),
                                       static_cast<unsigned>(piece.size()));
    if (got <= 0) break;
    bytes.append(piece.data(), static_cast<std::size_t>(got));
  }
  const bool good = unzCloseCurrentFile(zip) == UNZ_OK &&
                    bytes.size() == info.uncompressed_size;
  if (!good) return of_file("the archive is damaged", path);
  return std::pair(std::move(name), std::move(bytes));
}

void add_member(zipFile zip, const std::string& name, const Tensor& t) {
  // float4 has a byte for each element here too, though no number.
  Threads one(1);
  KernelRun run{.memory = HostMemory::create(), .threads = &one};
  const std::string bytes = npy_of(unpacked(t, run));
  zip_fileinfo info = {};
  info.dosDate = 1u << 21 | 1u << 16;  // 1980-01-01: the same bytes each time
  const bool is_large = bytes.size() > 0xffffffffu - 1024;
  if (zipOpenNewFileInZip4_64(zip, (name + ".npy").c_str(), &info, nullptr, 0,
                              nullptr, 0, nullptr, 0, 0, 0, -MAX_WBITS,
                              DEF_MEM_LEVEL, Z_DEFAULT_STRATEGY, nullptr, 0, 0,
                              kUtf8Names, is_large) != ZIP_OK) {
    fail("the archive cannot be made");
  }
  for (std::size_t at = 0; at < bytes.size();) {
    const auto piece = static_cast<unsigned>(
        std::min<std::size_t>(bytes.size() - at, std::size_t{1} << 30));
    if (zipWriteInFileInZip(zip, bytes.data() + at, piece) != ZIP_OK) {
      fail("the archive cannot be made");
    }
    at += piece;
  }
  if (zipCloseFileInZip(zip) != ZIP_OK) fail("the archive cannot be made");
}

void add_value(zipFile zip, const std::string& name, const Datum& value) {
  if (value.is_tensor()) return add_member(zip, name, value.tensor());
  if (!value.is_sequence()) return;
  for (std::size_t i = 0; i < value.items().size(); ++i) {
    add_value(zip, name + "/" + std::to_string(i), value.items()[i]);
  }
}

}  // namespace

Result<NamedData> read_npz(const std::string& path, std::size_t limit) {
  // Opening a pipe would wait for who writes to it.
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return of_file(error ? "the archive cannot be read"
                         : "the archive is not a regular file",
                   path);
  }
  if (has_no_members(path)) return NamedData();
  const std::unique_ptr<void, int (*)(unzFile)> zip(unzOpen64(path.c_str()),
                                                    &unzClose);
  if (!zip) return of_file("the archive cannot be read", path);
  NamedData out;
  const auto memory = HostMemory::create(limit);
  for (int at = unzGoToFirstFile(zip.get()); at == UNZ_OK;
       at = unzGoToNextFile(zip.get())) {
    auto member = read_member(zip.get(), limit - memory->live(), path);
    if (!member) return member.error();
    auto& [name, bytes] = *member;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    try {
      out.emplace_back(name, Datum(read_npy(bytes, *memory)));
    } catch (Failure& failure) {
      if (failure.error.kind != ErrorKind::kLimit) {
        failure.error.kind = ErrorKind::kUsage;
      }
      failure.error.where = path + ": '" + printable(name) + "'";
      return failure.error;
    }
  }
  return out;
}

Result<std::string> npz_of(const NamedData& values) {
  MemoryFile file;
  zlib_filefunc64_def functions = in_memory(file);
  const auto close = [](zipFile zip) { return zipClose(zip, nullptr); };
  std::unique_ptr<void, decltype(close)> zip(
      zipOpen2_64("", APPEND_STATUS_CREATE, nullptr, &functions));
  if (!zip) return of_file("the archive cannot be made", "");
  try {
    for (const auto& [name, value] : values) add_value(zip.get(), name, value);
  } catch (const Failure& failure) {
    return failure.error;
  }
  if (close(zip.release()) != ZIP_OK) {
    return of_file("the archive cannot be made", "");
  }
  return std::move(file.bytes);
}

}  // namespace ruleengine::runtime
