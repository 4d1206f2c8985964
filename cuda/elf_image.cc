#include "cuda/elf_image.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "proto/fd.h"

namespace forebay::cuda {
namespace {

// Value of e_ident[EI_DATA] for this host's byte order.
constexpr unsigned char kByteOrder =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

// Reads a value at an offset; returns false if the file ends too early.
template <typename T>
bool ReadAt(int fd, std::uint64_t offset, T* value) {
  return pread(fd, value, sizeof(*value), static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(sizeof(*value));
}

// Whether a header is that of a 64-bit ELF file in the host's byte order.
bool IsElf64(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == kByteOrder &&
         header.e_phentsize == sizeof(Elf64_Phdr);
}

// Whether `part` bytes from `offset` on lie within the first `size` bytes.
bool Within(std::uint64_t offset, std::uint64_t part, std::uint64_t size) {
  return part <= size && offset <= size - part;
}

// Whether the file has the whole program header table, and all bytes of each
// segment.
bool IsWhole(int fd, const Elf64_Ehdr& header, std::uint64_t size) {
  const std::uint64_t table =
      std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  if (!Within(header.e_phoff, table, size)) return false;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment = {};
    if (!ReadAt(fd, header.e_phoff + i * sizeof(Elf64_Phdr), &segment) ||
        !Within(segment.p_offset, segment.p_filesz, size))
      return false;
  }
  return true;
}

}  // namespace

ElfVerdict CheckElfImage(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return {ElfFault::kMissing, path + " is not there"};
    return {ElfFault::kUnreadable, path + ": " + strerror(errno)};
  }
  // Only regular files are opened: opening a FIFO could block.
  if (!S_ISREG(status.st_mode))
    return {ElfFault::kUnfit, path + " is not a regular file"};
  const proto::Fd file(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file || fstat(file.get(), &status) != 0)
    return {ElfFault::kUnreadable, path + " cannot be read"};
  Elf64_Ehdr header = {};
  if (!ReadAt(file.get(), 0, &header) || !IsElf64(header))
    return {ElfFault::kUnfit, path + " is not a shared library"};
  if (!IsWhole(file.get(), header, static_cast<std::uint64_t>(status.st_size)))
    return {ElfFault::kUnfit, path + " is cut short"};
  return {};
}

}  // namespace forebay::cuda
