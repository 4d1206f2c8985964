#include "tests/conformance/cuda/gpu_conformance.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <limits>
#include <optional>
#include <thread>

#include "absl/status/status.h"

namespace forebay::cuda {
namespace {

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;

// Memory of the host that a GPU copies from.
class Staging {
 public:
  Staging(Gpu& gpu, std::size_t bytes)
      : gpu_(gpu),
        bytes_(bytes),
        data_(static_cast<std::uint8_t*>(
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    EXPECT_EQ(gpu_.Register(data_, bytes_), absl::OkStatus());
  }
  ~Staging() {
    EXPECT_EQ(gpu_.Unregister(data_), absl::OkStatus());
    munmap(data_, bytes_);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  std::uint8_t* data() const { return data_; }
  // Fills it with a byte, and copies that much of it.
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

void GpuConformanceTest::SetUp() {
  driver_ = GetParam()();
  auto gpu = driver_->Open(0);
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  gpu_ = *std::move(gpu);
}

std::unique_ptr<GpuMemory> GpuConformanceTest::Allocate(std::uint64_t bytes) {
  auto memory = gpu_->Allocate(bytes);
  EXPECT_TRUE(memory.ok()) << memory.status();
  return memory.ok() ? *std::move(memory) : nullptr;
}

std::vector<std::uint8_t> GpuConformanceTest::Read(const GpuMemory& memory,
                                                   std::uint64_t offset,
                                                   std::size_t bytes) {
  std::vector<std::uint8_t> read(bytes);
  EXPECT_EQ(gpu_->Read(memory, offset, read.data(), bytes), absl::OkStatus());
  return read;
}

namespace {

using Bytes = std::vector<std::uint8_t>;

TEST_P(GpuConformanceTest, BytesArriveWhereTheyBelong) {
  const auto memory = Allocate(3 * kMegabyte);
  ASSERT_GE(memory->bytes(), 3 * kMegabyte);
  const Staging staging(*gpu_, kMegabyte);
  const auto first = staging.Send(1, *memory, 0, 1000);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(gpu_->Wait(*first), absl::OkStatus());
  const auto second = staging.Send(2, *memory, 500, 100);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(gpu_->Wait(*second), absl::OkStatus());
  Bytes expected(1000, 1);
  std::fill_n(expected.begin() + 500, 100, 2);
  EXPECT_EQ(Read(*memory, 0, 1000), expected);
}

TEST_P(GpuConformanceTest, CopiesAreDoneInTheOrderOfTheirNumbers) {
  const auto memory = Allocate(kMegabyte);
  const Staging one(*gpu_, kMegabyte), other(*gpu_, kMegabyte);
  std::uint64_t last = 0;
  for (std::uint8_t i = 0; i < 20; ++i) {
    const auto first = one.Send(i, *memory, 0, kMegabyte);
    const auto second = other.Send(i + 100, *memory, 0, kMegabyte);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(*first, last + 1);
    EXPECT_EQ(*second, last + 2);
    last = *second;
    // The first is done, too.
    EXPECT_EQ(gpu_->Wait(*second), absl::OkStatus());
    EXPECT_EQ(gpu_->Wait(*first), absl::OkStatus());
    EXPECT_EQ(Read(*memory, kMegabyte - 10, 10), Bytes(10, i + 100));
  }
}

TEST_P(GpuConformanceTest, ReadsAfterAllThatIsQueued) {
  const auto memory = Allocate(8 * kMegabyte);
  const Staging staging(*gpu_, 8 * kMegabyte);
  for (std::uint8_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(staging.Send(7, *memory, 0, 8 * kMegabyte).ok());
    EXPECT_EQ(Read(*memory, 8 * kMegabyte - 1, 1), Bytes(1, 7));
  }
}

TEST_P(GpuConformanceTest, RefusesRangesOutsideTheMemory) {
  const auto memory = Allocate(kMegabyte);
  const std::uint64_t bytes = memory->bytes();
  std::uint8_t byte = 0;
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  for (const auto& [offset, length] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {bytes, 1}, {0, bytes + 1}, {kMax, 1}, {1, kMax}, {kMax, kMax}}) {
    EXPECT_EQ(gpu_->StartCopy(*memory, offset, &byte, length).status().code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(gpu_->Read(*memory, offset, &byte, length).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_P(GpuConformanceTest, GivesNoMoreThanThereIs) {
  for (const std::uint64_t bytes :
       {std::uint64_t{1} << 47, std::numeric_limits<std::uint64_t>::max(),
        std::numeric_limits<std::uint64_t>::max() - 4096}) {
    EXPECT_EQ(gpu_->Allocate(bytes).status().code(),
              absl::StatusCode::kResourceExhausted);
  }
  EXPECT_NE(Allocate(kMegabyte), nullptr);
}

TEST_P(GpuConformanceTest, MemoryIsADescriptorOfItsOwn) {
  const auto memory = Allocate(kMegabyte), another = Allocate(kMegabyte);
  struct stat one = {}, other = {};
  ASSERT_EQ(fstat(memory->fd(), &one), 0);
  ASSERT_EQ(fstat(another->fd(), &other), 0);
  EXPECT_NE(memory->fd(), another->fd());
}

TEST_P(GpuConformanceTest, PinsMemoryOnce) {
  std::optional<Staging> staging(std::in_place, *gpu_, kMegabyte);
  std::uint8_t* const data = staging->data();
  EXPECT_EQ(gpu_->Register(data, kMegabyte).code(),
            absl::StatusCode::kInternal);
  staging.reset();
  EXPECT_EQ(gpu_->Unregister(data).code(), absl::StatusCode::kInternal);
}

TEST_P(GpuConformanceTest, KnowsNoCopyThatWasNotStarted) {
  EXPECT_EQ(gpu_->Wait(1).code(), absl::StatusCode::kInternal);
}

TEST_P(GpuConformanceTest, ThreadsShareIt) {
  constexpr std::uint64_t kPart = 64 << 10;
  const auto memory = Allocate(4 * kPart);
  std::vector<std::thread> threads;
  for (std::uint8_t part = 0; part < 4; ++part) {
    threads.emplace_back([&, part] {
      const Staging staging(*gpu_, kPart);
      for (std::uint8_t i = 0; i < 30; ++i) {
        const std::uint8_t byte = 60 * part + i;
        const auto copy = staging.Send(byte, *memory, part * kPart, kPart);
        ASSERT_TRUE(copy.ok()) << copy.status();
        EXPECT_EQ(gpu_->Wait(*copy), absl::OkStatus());
        EXPECT_EQ(Read(*memory, part * kPart, kPart), Bytes(kPart, byte));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(GpuConformanceTest, OpensAgain) {
  gpu_.reset();
  auto again = driver_->Open(0);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE((*again)->Allocate(kMegabyte).ok());
}

TEST_P(GpuConformanceTest, HasNoGpuThatTheInventoryLacks) {
  const int count = static_cast<int>(driver_->inventory().devices.size());
  EXPECT_EQ(driver_->Open(count).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(driver_->Open(-1).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace forebay::cuda
