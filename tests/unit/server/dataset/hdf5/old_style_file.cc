#include "tests/unit/server/dataset/hdf5/old_style_file.h"

#include "tests/unit/server/dataset/hdf5/golden_hdf5.h"

namespace forebay::dataset::hdf5 {
namespace {

// Bytes of the superblock, of which Finish writes those from kEndField on.
constexpr std::uint64_t kSuperblockBytes = 96;
constexpr std::uint64_t kEndField = 40;
constexpr std::uint64_t kRootField = 64;

std::string Number(std::uint64_t number) {
  std::string bytes;
  Append(number, 8, &bytes);
  return bytes;
}

// Returns a version 1 object header with these messages, whose bodies have
// multiples of 8 bytes.
std::string Header(
    const std::vector<std::pair<std::uint16_t, std::string>>& messages) {
  std::string bodies;
  for (const auto& [type, body] : messages) {
    Append(type, 2, &bodies);
    Append(body.size(), 2, &bodies);
    Append(0, 4, &bodies);  // flags
    bodies += body;
  }
  std::string header("\1\0", 2);
  Append(messages.size(), 2, &header);
  Append(1, 4, &header);  // reference count
  Append(bodies.size(), 8, &header);
  return header + bodies;
}

}  // namespace

OldStyleFile::OldStyleFile()
    : bytes_("\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0\4\0\x10\0\0\0\0\0", 24) {
  bytes_.resize(kSuperblockBytes);
}

std::uint64_t OldStyleFile::AddDataset(std::uint64_t rows) {
  const std::uint64_t address = bytes_.size();
  const auto header = [rows](std::uint64_t data) {
    std::string layout = std::string("\3\1", 2) + Number(data);
    Append(4 * rows, 8, &layout);
    layout.resize(24);
    return Header(
        {{0x0001, std::string("\1\1\0\0\0\0\0\0", 8) + Number(rows)},
         {0x0003, std::string("\x10\x08\0\0\4\0\0\0\0\0\x20\0\0\0\0\0", 16)},
         {0x0008, layout}});
  };
  const std::uint64_t data = address + header(0).size();
  bytes_ += header(data);
  bytes_.resize(data + (4 * rows + 7) / 8 * 8);
  return address;
}

std::uint64_t OldStyleFile::AddGroup(const Links& links) {
  const std::uint64_t address = bytes_.size();
  std::string names;
  std::string symbols;
  for (const auto& [name, target] : links) {
    symbols += Number(names.size()) + Number(target);
    symbols.resize(symbols.size() + 24);
    names += name;
    names.resize((names.size() + 8) / 8 * 8);
  }
  names.resize(names.size() + 8);
  const std::uint64_t tree = address + 40;
  const std::uint64_t heap = tree + 48;
  const std::uint64_t table = heap + 32 + names.size();
  bytes_ += Header({{0x0011, Number(tree) + Number(heap)}});
  bytes_ += std::string("TREE\0\0\1\0", 8) + Number(UINT64_MAX) +
            Number(UINT64_MAX) + Number(0) + Number(table) + Number(0);
  bytes_ += std::string("HEAP\0\0\0\0", 8) + Number(names.size()) + Number(1) +
            Number(heap + 32) + names;
  bytes_ += std::string("SNOD\1\0", 6);
  Append(links.size(), 2, &bytes_);
  bytes_ += symbols;
  return address;
}

std::uint64_t OldStyleFile::AddChain(int groups, const std::string& name,
                                     std::uint64_t target) {
  for (int i = 0; i < groups; ++i) target = AddGroup({{name, target}});
  return target;
}

std::string OldStyleFile::Finish(std::uint64_t root) const {
  std::string file = bytes_;
  // The addresses of the base, of the free space, of the end, and of the driver
  // come before the entry of the root group.
  file.replace(kEndField - 16, 32,
               Number(0) + Number(UINT64_MAX) + Number(file.size()) +
                   Number(UINT64_MAX));
  file.replace(kRootField, 8, Number(root));
  return file;
}

}  // namespace forebay::dataset::hdf5
