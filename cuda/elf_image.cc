#include "cuda/elf_image.h"

#include <elf.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace forebay::cuda {
namespace {

constexpr unsigned char kByteOrder =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

template <typename T>
bool ReadAt(std::ifstream* file, std::uint64_t offset, T* value) {
  file->seekg(static_cast<std::streamoff>(offset));
  file->read(reinterpret_cast<char*>(value), sizeof(*value));
  return file->good();
}

bool IsElf64(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == kByteOrder &&
         header.e_phentsize == sizeof(Elf64_Phdr);
}

// Whether `part` bytes from `offset` lie within `size`.
bool Within(std::uint64_t offset, std::uint64_t part, std::uint64_t size) {
  return part <= size && offset <= size - part;
}

}  // namespace

absl::Status CheckElfImage(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status =
      std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return absl::NotFoundError(absl::StrCat(path, " is not there"));
  }
  if (error) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": ", error.message()));
  }
  // Opening a FIFO would block.
  if (!std::filesystem::is_regular_file(status)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is not a regular file"));
  }
  const std::uint64_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) {
    return absl::PermissionDeniedError(absl::StrCat(path, " cannot be read"));
  }
  Elf64_Ehdr header = {};
  if (!ReadAt(&file, 0, &header) || !IsElf64(header)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is no shared library"));
  }
  const std::uint64_t table =
      std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  bool whole = Within(header.e_phoff, table, size);
  for (int i = 0; whole && i < header.e_phnum; ++i) {
    Elf64_Phdr segment = {};
    whole = ReadAt(&file, header.e_phoff + i * sizeof(Elf64_Phdr), &segment) &&
            Within(segment.p_offset, segment.p_filesz, size);
  }
  if (!whole) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is cut short"));
  }
  return absl::OkStatus();
}

}  // namespace forebay::cuda
