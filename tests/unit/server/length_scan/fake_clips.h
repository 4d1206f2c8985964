#ifndef FOREBAY_TESTS_UNIT_SERVER_LENGTH_SCAN_FAKE_CLIPS_H_
#define FOREBAY_TESTS_UNIT_SERVER_LENGTH_SCAN_FAKE_CLIPS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/storage/byte_source.h"
#include "tests/unit/server/dataset/fake_dataset.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::length_scan {

// Returns a WAV file with one channel of 16-bit numbers, all 0.
inline std::string WavFile(std::uint32_t frames, std::uint32_t rate) {
  std::string file;
  const auto put = [&file](std::uint32_t number, int bytes) {
    for (int i = 0; i < bytes; ++i)
      file.push_back(static_cast<char>(number >> 8 * i));
  };
  file += "RIFF";
  put(36 + 2 * frames, 4);
  file += "WAVEfmt ";
  put(16, 4);
  put(1, 2);
  put(1, 2);
  put(rate, 4);
  put(2 * rate, 4);
  put(2, 2);
  put(16, 2);
  file += "data";
  put(2 * frames, 4);
  file.resize(file.size() + std::size_t{2} * frames);
  return file;
}

// Clips that lie one after the other in one object, each after a text of three
// bytes.
class FakeClips final : public dataset::FakeDataset {
 public:
  explicit FakeClips(const std::vector<std::string>& clips,
                     bool is_described = false)
      : FakeDataset({.size = clips.size(),
                     .fields = {{"txt", proto::FieldKind::kText, 3},
                                {"wav", proto::FieldKind::kAudio, 1 << 24}},
                     .largest_sample = 1 << 24,
                     .root = storage::FakeRoot::Make(
                         {.uri = "clips", .identity = "clips"})}),
        is_described_(is_described) {
    for (const std::string& clip : clips) {
      begins_.push_back(object_.size());
      object_ += "abc" + clip;
    }
    begins_.push_back(object_.size());
  }

  const std::string& object() const { return object_; }
  bool is_self_describing() const override { return is_described_; }
  dataset::Sample At(std::uint64_t id) const override {
    dataset::Sample sample;
    sample.object = "all.tar";
    sample.version.size = object_.size();
    sample.version.revision.inode = inode;
    sample.offset = begins_[id];
    sample.length = begins_[id + 1] - begins_[id];
    return sample;
  }
  void ValuesOf(std::uint64_t id,
                absl::Span<dataset::FieldValue> values) const override {
    values[0] = dataset::FieldRange{0, 3};
    values[1] = dataset::FieldRange{3, At(id).length - 3};
  }

  std::uint64_t inode = 0;

 private:
  const bool is_described_;
  std::string object_;
  std::vector<std::uint64_t> begins_;
};

// A source of the object that has the clips. Records the reads.
class ClipSource final : public storage::ByteSource {
 public:
  explicit ClipSource(std::string object) : object_(std::move(object)) {}

  void Read(absl::Span<storage::ReadRequest> requests) override {
    for (storage::ReadRequest& request : requests) {
      ++reads;
      bytes += request.length;
      if (fails) {
        request.done(absl::NotFoundError("all.tar: no such file"));
        continue;
      }
      if (holds) {
        std::lock_guard lock(mutex_);
        held_.push_back(std::move(request));
        continue;
      }
      Answer(request);
    }
  }
  // Returns how many reads are held back.
  std::size_t held() {
    std::lock_guard lock(mutex_);
    return held_.size();
  }
  void LetGo() {
    std::lock_guard lock(mutex_);
    for (storage::ReadRequest& request : held_) Answer(request);
    held_.clear();
  }

  std::atomic<std::uint64_t> reads = 0;
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<bool> fails = false;
  std::atomic<bool> holds = false;

 private:
  void Answer(storage::ReadRequest& request) const {
    const auto copy = std::make_shared<const std::string>(
        object_.substr(request.offset, request.length));
    request.done(storage::ReadResult{base::Bytes(
        copy,
        {reinterpret_cast<const std::uint8_t*>(copy->data()), copy->size()})});
  }

  const std::string object_;
  std::mutex mutex_;
  std::vector<storage::ReadRequest> held_;
};

}  // namespace forebay::length_scan

#endif  // FOREBAY_TESTS_UNIT_SERVER_LENGTH_SCAN_FAKE_CLIPS_H_
