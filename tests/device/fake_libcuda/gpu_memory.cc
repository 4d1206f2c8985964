#include "tests/device/fake_libcuda/gpu_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace forebay::fake_libcuda {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = "/memfd:forebay-gpu,";
constexpr unsigned char kPoison = 0xA5;

std::optional<Label> ParseLabel(std::string_view target) {
  const std::size_t at = target.find(kMark);
  if (at == target.npos) return std::nullopt;
  std::istringstream name(std::string(target.substr(at + kMark.size())));
  Label label;
  if (!std::getline(name, label.uuid, ',') ||
      !std::getline(name, label.kind, ',') || !(name >> label.bytes)) {
    return std::nullopt;
  }
  return label;
}

std::optional<Label> LabelAt(const std::string& link) {
  char target[512];
  const ssize_t length = readlink(link.c_str(), target, sizeof(target));
  return length <= 0 ? std::nullopt
                     : ParseLabel(std::string_view(
                           target, static_cast<std::size_t>(length)));
}

void AddOpen(const fs::path& process, pid_t pid, std::vector<LivePiece>* all) {
  std::error_code error;
  for (fs::directory_iterator it(process / "fd", error), end; it != end;
       it.increment(error)) {
    if (error) return;
    const std::optional<Label> label = LabelAt(it->path());
    struct stat status = {};
    if (label.has_value() && stat(it->path().c_str(), &status) == 0)
      all->push_back({status.st_ino, pid, *label});
  }
}

void AddMapped(const fs::path& process, pid_t pid,
               std::vector<LivePiece>* all) {
  std::ifstream maps(process / "maps");
  for (std::string line; std::getline(maps, line);) {
    const std::optional<Label> label = ParseLabel(line);
    if (!label.has_value()) continue;
    std::istringstream columns(line);
    std::string range, access, offset, device;
    std::uint64_t inode = 0;
    columns >> range >> access >> offset >> device >> inode;
    all->push_back({inode, pid, *label});
  }
}

}  // namespace

std::optional<Label> ReadLabel(int fd) {
  return LabelAt("/proc/self/fd/" + std::to_string(fd));
}

GpuMemory::GpuMemory(proto::Fd fd, Label label)
    : fd_(std::move(fd)), label_(std::move(label)) {}

std::shared_ptr<GpuMemory> GpuMemory::Make(Label label) {
  const std::string name = "forebay-gpu," + label.uuid + "," + label.kind +
                           "," + std::to_string(label.bytes);
  proto::Fd fd(memfd_create(name.c_str(), MFD_CLOEXEC));
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(label.bytes)) != 0)
    return nullptr;
  if (label.kind == "memory") {
    void* const memory = mmap(nullptr, label.bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED, fd.get(), 0);
    if (memory == MAP_FAILED) return nullptr;
    std::memset(memory, kPoison, label.bytes);
    munmap(memory, label.bytes);
  }
  return std::shared_ptr<GpuMemory>(
      new GpuMemory(std::move(fd), std::move(label)));
}

std::shared_ptr<GpuMemory> GpuMemory::Import(proto::Fd fd) {
  const std::optional<Label> label = ReadLabel(fd.get());
  if (!label.has_value() || label->kind != "memory") return nullptr;
  return std::shared_ptr<GpuMemory>(new GpuMemory(std::move(fd), *label));
}

std::vector<LivePiece> LivePieces() {
  std::vector<LivePiece> all;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; it != end;
       it.increment(error)) {
    if (error) break;
    const std::string name = it->path().filename();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    const auto pid = static_cast<pid_t>(std::stol(name));
    AddOpen(it->path(), pid, &all);
    AddMapped(it->path(), pid, &all);
  }
  return all;
}

std::uint64_t BytesAlive(const std::string& uuid) {
  std::map<std::uint64_t, std::uint64_t> bytes_of;  // by inode
  for (const LivePiece& piece : LivePieces()) {
    if (piece.label.uuid == uuid) bytes_of[piece.inode] = piece.label.bytes;
  }
  std::uint64_t sum = 0;
  for (const auto& [inode, bytes] : bytes_of) sum += bytes;
  return sum;
}

bool HasForeignContext(const std::string& uuid) {
  for (const LivePiece& piece : LivePieces()) {
    if (piece.label.uuid == uuid && piece.label.kind == "context" &&
        piece.process != getpid()) {
      return true;
    }
  }
  return false;
}

}  // namespace forebay::fake_libcuda
