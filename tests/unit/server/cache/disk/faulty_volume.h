#ifndef FOREBAY_TESTS_UNIT_SERVER_CACHE_DISK_FAULTY_VOLUME_H_
#define FOREBAY_TESTS_UNIT_SERVER_CACHE_DISK_FAULTY_VOLUME_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/cache/disk/volume.h"

namespace forebay::cache::disk {

// The faults of a FaultyVolume. The test and the volume share this struct,
// because the tier owns the volume. Thread-safe.
struct Faults {
  // The errno that every call of this kind returns; 0 if the calls succeed.
  std::atomic<int> open = 0;
  std::atomic<int> create = 0;
  std::atomic<int> read = 0;
  std::atomic<int> write = 0;
  std::atomic<int> sync = 0;
  std::atomic<int> remove = 0;
  std::atomic<int> list = 0;
  // Number of calls of this kind that succeed before the fault above begins.
  std::atomic<std::int64_t> writes_before = 0;
  std::atomic<std::int64_t> creates_before = 0;
  std::atomic<bool> short_moves = false;  // each call moves only some bytes
  std::atomic<int> interrupted = 0;  // number of next calls that return EINTR
  // While this is true, reads wait. The thread that sets it to false notifies
  // them.
  std::atomic<bool> hangs = false;

  std::atomic<std::int64_t> reads_done = 0;
  std::atomic<std::int64_t> writes_done = 0;
};

// A Volume that forwards all calls to `inner`, except for the faults.
class FaultyVolume final : public Volume {
 public:
  FaultyVolume(std::unique_ptr<Volume> inner, std::shared_ptr<Faults> faults)
      : inner_(std::move(inner)), faults_(std::move(faults)) {}

  const std::string& path() const override { return inner_->path(); }
  int List(std::vector<std::string>* names) override {
    return faults_->list != 0 ? -faults_->list : inner_->List(names);
  }
  int Create(const std::string& name, std::uint64_t bytes) override {
    if (faults_->create != 0 && --faults_->creates_before < 0) {
      return -faults_->create;
    }
    return inner_->Create(name, bytes);
  }
  int Open(const std::string& name) override {
    return faults_->open != 0 ? -faults_->open : inner_->Open(name);
  }
  int Remove(const std::string& name) override {
    return faults_->remove != 0 ? -faults_->remove : inner_->Remove(name);
  }
  std::int64_t Size(int fd) override { return inner_->Size(fd); }
  ssize_t Pread(int fd, void* buffer, std::size_t length,
                off_t offset) override {
    ++faults_->reads_done;
    faults_->hangs.wait(true);
    if (faults_->read != 0) return -faults_->read;
    if (IsInterrupted()) return -EINTR;
    return inner_->Pread(fd, buffer, Shortened(length), offset);
  }
  ssize_t Pwrite(int fd, const void* buffer, std::size_t length,
                 off_t offset) override {
    ++faults_->writes_done;
    if (faults_->write != 0 && --faults_->writes_before < 0) {
      return -faults_->write;
    }
    if (IsInterrupted()) return -EINTR;
    return inner_->Pwrite(fd, buffer, Shortened(length), offset);
  }
  int Sync(int fd) override {
    return faults_->sync != 0 ? -faults_->sync : inner_->Sync(fd);
  }

 private:
  bool IsInterrupted() {
    return faults_->interrupted > 0 && --faults_->interrupted >= 0;
  }
  // Returns the length of a short read or write. The length is a number of
  // whole pages, since I/O that bypasses the page cache moves only whole pages.
  std::size_t Shortened(std::size_t length) const {
    if (!faults_->short_moves) return length;
    return std::max<std::size_t>(length / 3 / 4096, 1) * 4096;
  }

  const std::unique_ptr<Volume> inner_;
  const std::shared_ptr<Faults> faults_;
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_TESTS_UNIT_SERVER_CACHE_DISK_FAULTY_VOLUME_H_
