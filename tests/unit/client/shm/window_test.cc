// Tests that the client checks the daemon's description of fetched samples
// before the client uses that description.
#include "client/shm/window.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::client::shm {
namespace {

using tests::IsOk;

constexpr std::uint64_t kBytes = 4096;

class WindowTest {
 protected:
  WindowTest() {
    Put(0, proto::FetchHeader{.magic = proto::kFetchMagic,
                              .version = proto::kLayoutVersion,
                              .sample_count = 1,
                              .field_count = 2});
    good_ = {.kind = proto::FieldKind::kArray,
             .dtype = proto::DType::kInt16,
             .rank = 2,
             .reserved = 0,
             .shape = {3, 4},
             .offset = 1024,
             .bytes = 24};
    PutField(good_);
  }

  template <typename T>
  void Put(std::uint64_t offset, const T& value) {
    std::memcpy(memory_.data() + offset, &value, sizeof(value));
  }
  void PutField(const proto::FetchedField& field) {
    Put(proto::FetchedFieldOffset(0, 1, 2), field);
  }
  forebay_status Map() {
    proto::Fd fd(memfd_create("test", MFD_CLOEXEC));
    CHECK(write(fd.get(), memory_.data(), kBytes) ==
          static_cast<ssize_t>(kBytes));
    return window_.Map(fd, kBytes).code;
  }
  forebay_status Find() {
    CHECK(Map() == FOREBAY_OK);
    proto::FetchedField field;
    return window_.Find(0, 1, 2, &field).code;
  }

  std::vector<std::uint8_t> memory_ = std::vector<std::uint8_t>(kBytes);
  proto::FetchedField good_ = {};
  FetchWindow window_;
};

TEST_CASE_METHOD(WindowTest, "A window finds the fetched fields that are there",
                 "[shm][window]") {
  REQUIRE(Map() == FOREBAY_OK);
  CHECK_THAT(window_.Check(1, 2), IsOk());
  proto::FetchedField field;
  REQUIRE_THAT(window_.Find(0, 1, 2, &field), IsOk());
  CHECK(field.bytes == 24);
  REQUIRE_THAT(window_.Find(0, 0, 2, &field), IsOk());
  CHECK(field.kind == proto::FieldKind{});
}

TEST_CASE_METHOD(WindowTest, "A window of fetched samples checks the header",
                 "[shm][window]") {
  CHECK_FALSE(window_.Check(1, 2).ok());
  REQUIRE(Map() == FOREBAY_OK);
  CHECK_FALSE(window_.Check(2, 2).ok());
  CHECK_FALSE(window_.Check(1, 1).ok());
  Put(0, std::uint32_t{7});
  REQUIRE(Map() == FOREBAY_OK);
  CHECK_FALSE(window_.Check(1, 2).ok());
  Put(0, proto::FetchHeader{.magic = proto::kFetchMagic,
                            .version = proto::kLayoutVersion,
                            .sample_count = 1000,
                            .field_count = 2});
  REQUIRE(Map() == FOREBAY_OK);
  CHECK_FALSE(window_.Check(1000, 2).ok());
}

TEST_CASE_METHOD(WindowTest,
                 "A window of fetched samples checks that a field lies in it",
                 "[shm][window]") {
  CHECK(Find() == FOREBAY_OK);
  for (auto spoil : {+[](proto::FetchedField* f) { f->offset = kBytes - 23; },
                     +[](proto::FetchedField* f) { f->offset = ~0ull; },
                     +[](proto::FetchedField* f) { f->bytes = 25; },
                     +[](proto::FetchedField* f) { f->bytes = ~0ull; },
                     +[](proto::FetchedField* f) { f->rank = 7; },
                     +[](proto::FetchedField* f) { f->shape[0] = 1ull << 63; },
                     +[](proto::FetchedField* f) {
                       f->dtype = static_cast<proto::DType>(99);
                     }}) {
    proto::FetchedField field = good_;
    spoil(&field);
    PutField(field);
    CHECK(Find() == FOREBAY_INTERNAL);
  }
}

TEST_CASE_METHOD(WindowTest,
                 "A window of fetched samples is not larger than its memory",
                 "[shm][window]") {
  const proto::Fd fd(memfd_create("test", MFD_CLOEXEC));
  CHECK(window_.Map(fd, kBytes).code == FOREBAY_INTERNAL);
  CHECK(window_.Map(fd, 0).code == FOREBAY_INTERNAL);
}

}  // namespace
}  // namespace forebay::client::shm
