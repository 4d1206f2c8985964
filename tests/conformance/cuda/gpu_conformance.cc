#include "tests/conformance/cuda/gpu_conformance.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <limits>
#include <optional>
#include <thread>

#include "absl/status/status.h"
#include "tests/catch/matchers.h"

namespace forebay::cuda {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;

// Host memory from which a GPU copies.
class Staging {
 public:
  Staging(Gpu& gpu, std::size_t bytes)
      : gpu_(gpu),
        bytes_(bytes),
        data_(static_cast<std::uint8_t*>(
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    CHECK_THAT(gpu_.Register(data_, bytes_), IsOk());
  }
  ~Staging() {
    CHECK_THAT(gpu_.Unregister(data_), IsOk());
    munmap(data_, bytes_);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  std::uint8_t* data() const { return data_; }
  // Fills the memory with `byte`, and starts a copy of its first `bytes` bytes.
  // Returns the copy's number.
  absl::StatusOr<std::uint64_t> Send(std::uint8_t byte, const GpuMemory& to,
                                     std::uint64_t offset,
                                     std::size_t bytes) const {
    std::memset(data_, byte, bytes);
    return gpu_.StartCopy(to, offset, data_, bytes);
  }

 private:
  Gpu& gpu_;
  const std::size_t bytes_;
  std::uint8_t* const data_;
};

}  // namespace

GpuConformance::GpuConformance(Subject make) {
  driver_ = make();
  auto gpu = driver_->Open(0);
  REQUIRE_THAT(gpu, IsOk());
  gpu_ = *std::move(gpu);
}

std::unique_ptr<GpuMemory> GpuConformance::Allocate(std::uint64_t bytes) {
  auto memory = gpu_->Allocate(bytes);
  CHECK_THAT(memory, IsOk());
  return memory.ok() ? *std::move(memory) : nullptr;
}

std::vector<std::uint8_t> GpuConformance::Read(const GpuMemory& memory,
                                               std::uint64_t offset,
                                               std::size_t bytes) {
  std::vector<std::uint8_t> read(bytes);
  CHECK_THAT(gpu_->Read(memory, offset, read.data(), bytes), IsOk());
  return read;
}

namespace {

using Bytes = std::vector<std::uint8_t>;

SUITE_CASE(GpuConformance,
           "Bytes copied to a GPU arrive where they belong in its memory",
           "[cuda][gpu_conformance]") {
  const auto memory = Allocate(3 * kMegabyte);
  REQUIRE(memory->bytes() >= 3 * kMegabyte);
  const Staging staging(*gpu_, kMegabyte);
  const auto first = staging.Send(1, *memory, 0, 1000);
  REQUIRE_THAT(first, IsOk());
  CHECK_THAT(gpu_->Wait(*first), IsOk());
  const auto second = staging.Send(2, *memory, 500, 100);
  REQUIRE_THAT(second, IsOk());
  CHECK_THAT(gpu_->Wait(*second), IsOk());
  Bytes expected(1000, 1);
  std::fill_n(expected.begin() + 500, 100, 2);
  CHECK(Read(*memory, 0, 1000) == expected);
}

SUITE_CASE(GpuConformance, "A GPU does copies in the order of their numbers",
           "[cuda][gpu_conformance]") {
  const auto memory = Allocate(kMegabyte);
  const Staging one(*gpu_, kMegabyte), other(*gpu_, kMegabyte);
  std::uint64_t last = 0;
  for (std::uint8_t i = 0; i < 20; ++i) {
    const auto first = one.Send(i, *memory, 0, kMegabyte);
    const auto second = other.Send(i + 100, *memory, 0, kMegabyte);
    REQUIRE_THAT(first, IsOk());
    REQUIRE_THAT(second, IsOk());
    CHECK(*first == last + 1);
    CHECK(*second == last + 2);
    last = *second;
    // When a later copy is done, the earlier ones are done.
    CHECK_THAT(gpu_->Wait(*second), IsOk());
    CHECK_THAT(gpu_->Wait(*first), IsOk());
    CHECK(Read(*memory, kMegabyte - 10, 10) == Bytes(10, i + 100));
  }
}

SUITE_CASE(GpuConformance, "A GPU reads its memory after all that is queued",
           "[cuda][gpu_conformance]") {
  const auto memory = Allocate(8 * kMegabyte);
  const Staging staging(*gpu_, 8 * kMegabyte);
  for (std::uint8_t i = 0; i < 4; ++i) {
    REQUIRE_THAT(staging.Send(7, *memory, 0, 8 * kMegabyte), IsOk());
    CHECK(Read(*memory, 8 * kMegabyte - 1, 1) == Bytes(1, 7));
  }
}

SUITE_CASE(GpuConformance, "A GPU refuses ranges outside the memory",
           "[cuda][gpu_conformance]") {
  const auto memory = Allocate(kMegabyte);
  const std::uint64_t bytes = memory->bytes();
  std::uint8_t byte = 0;
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  for (const auto& [offset, length] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {bytes, 1}, {0, bytes + 1}, {kMax, 1}, {1, kMax}, {kMax, kMax}}) {
    CHECK_THAT(gpu_->StartCopy(*memory, offset, &byte, length),
               HasCode(absl::StatusCode::kInvalidArgument));
    CHECK_THAT(gpu_->Read(*memory, offset, &byte, length),
               HasCode(absl::StatusCode::kInvalidArgument));
  }
}

SUITE_CASE(GpuConformance, "A GPU gives no more memory than there is",
           "[cuda][gpu_conformance]") {
  for (const std::uint64_t bytes :
       {std::uint64_t{1} << 47, std::numeric_limits<std::uint64_t>::max(),
        std::numeric_limits<std::uint64_t>::max() - 4096}) {
    CHECK_THAT(gpu_->Allocate(bytes),
               HasCode(absl::StatusCode::kResourceExhausted));
  }
  CHECK(Allocate(kMegabyte) != nullptr);
}

SUITE_CASE(GpuConformance,
           "Each allocation of a GPU's memory has a descriptor of its own",
           "[cuda][gpu_conformance]") {
  const auto memory = Allocate(kMegabyte), another = Allocate(kMegabyte);
  struct stat one = {}, other = {};
  REQUIRE(fstat(memory->fd(), &one) == 0);
  REQUIRE(fstat(another->fd(), &other) == 0);
  CHECK(memory->fd() != another->fd());
}

SUITE_CASE(GpuConformance, "A GPU pins the same host memory only once",
           "[cuda][gpu_conformance]") {
  std::optional<Staging> staging(std::in_place, *gpu_, kMegabyte);
  std::uint8_t* const data = staging->data();
  CHECK_THAT(gpu_->Register(data, kMegabyte),
             HasCode(absl::StatusCode::kInternal));
  staging.reset();
  CHECK_THAT(gpu_->Unregister(data), HasCode(absl::StatusCode::kInternal));
}

SUITE_CASE(GpuConformance, "A GPU knows no copy that was not started",
           "[cuda][gpu_conformance]") {
  CHECK_THAT(gpu_->Wait(1), HasCode(absl::StatusCode::kInternal));
}

SUITE_CASE(GpuConformance, "Threads share a GPU and find their own bytes in it",
           "[cuda][gpu_conformance]") {
  constexpr std::uint64_t kPart = 64 << 10;
  const auto memory = Allocate(4 * kPart);
  std::vector<std::jthread> threads;
  std::vector<std::unique_ptr<Staging>> stagings;
  for (int part = 0; part < 4; ++part)
    stagings.push_back(std::make_unique<Staging>(*gpu_, kPart));
  // Each thread writes an element of its own.
  std::vector<absl::Status> refusals(4);
  std::vector<int> wrong(4);
  for (std::uint8_t part = 0; part < 4; ++part) {
    threads.emplace_back([&, part, &staging = *stagings[part]] {
      for (std::uint8_t i = 0; i < 30; ++i) {
        const std::uint8_t byte = 60 * part + i;
        const auto copy = staging.Send(byte, *memory, part * kPart, kPart);
        refusals[part].Update(copy.status());
        if (!copy.ok()) return;
        refusals[part].Update(gpu_->Wait(*copy));
        std::vector<std::uint8_t> read(kPart);
        refusals[part].Update(
            gpu_->Read(*memory, part * kPart, read.data(), kPart));
        wrong[part] += read != Bytes(kPart, byte);
      }
    });
  }
  for (std::jthread& thread : threads) thread.join();
  for (const absl::Status& refusal : refusals) CHECK_THAT(refusal, IsOk());
  CHECK(wrong == std::vector<int>(4));
}

SUITE_CASE(GpuConformance, "A GPU opens again after it was closed",
           "[cuda][gpu_conformance]") {
  gpu_.reset();
  auto again = driver_->Open(0);
  REQUIRE_THAT(again, IsOk());
  CHECK_THAT((*again)->Allocate(kMegabyte), IsOk());
}

SUITE_CASE(GpuConformance, "A GPU driver opens no GPU that its inventory lacks",
           "[cuda][gpu_conformance]") {
  const int count = static_cast<int>(driver_->inventory().devices.size());
  CHECK_THAT(driver_->Open(count), HasCode(absl::StatusCode::kNotFound));
  CHECK_THAT(driver_->Open(-1), HasCode(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace forebay::cuda
