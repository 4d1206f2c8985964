#ifndef FOREBAY_TESTS_UNIT_SERVER_STREAM_FAKE_VARIANT_STORE_H_
#define FOREBAY_TESTS_UNIT_SERVER_STREAM_FAKE_VARIANT_STORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/cache/variant_store.h"
#include "tests/catch/catch.h"

namespace forebay::stream {

// A variant store that stores all variants until it is full, and remembers the
// latest offer.
class FakeVariantStore final : public cache::VariantStore {
 public:
  std::unique_ptr<cache::VariantBuffer> Reserve(const Offer& offer) override {
    ++offers;
    object = offer.read->object;
    last = offer;
    if (is_full) return nullptr;
    return std::make_unique<Room>(object, offer.bytes);
  }
  std::uint64_t variant_capacity() const override { return 1 << 20; }
  void Insert(std::unique_ptr<cache::VariantBuffer> buffer) override {
    auto& own = static_cast<Room&>(*buffer);
    variants[own.object] = std::move(own.bytes);
  }

  void Drop(const storage::ReadRequest& read,
            storage::Variant variant) override {
    CHECK(variant == last.variant);
    variants.erase(read.object);
  }

  bool is_full = false;
  int offers = 0;
  std::string object;
  Offer last;
  std::map<std::string, std::vector<std::uint8_t>> variants;

 private:
  struct Room final : cache::VariantBuffer {
    Room(std::string of, std::uint64_t size)
        : object(std::move(of)), bytes(size) {}
    absl::Span<std::uint8_t> span() override { return absl::MakeSpan(bytes); }

    std::string object;
    std::vector<std::uint8_t> bytes;
  };
};

}  // namespace forebay::stream

#endif  // FOREBAY_TESTS_UNIT_SERVER_STREAM_FAKE_VARIANT_STORE_H_
