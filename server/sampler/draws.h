#ifndef FOREBAY_SERVER_SAMPLER_DRAWS_H_
#define FOREBAY_SERVER_SAMPLER_DRAWS_H_

#include <cstdint>
#include <optional>

namespace forebay::sampler {

// The samples of one member's epoch, drawn when they are asked for.
// Thread-safe. Shared by those that start epochs and those that read them.
// Never blocks; no errors.
class Draws {
 public:
  virtual ~Draws() = default;

  // Returns the sample at `position`, which lies in the epoch and not before
  // its start. Draws it when first asked, with all before it; it stays the same
  // from then on.
  virtual std::uint64_t At(std::uint64_t position) = 0;

  // Returns a guess at the position of a sample that is not drawn yet. Returns
  // a position behind the epoch's end for one that is drawn and may be wanted
  // soon after the epoch. Else returns nullopt.
  virtual std::optional<std::uint64_t> PositionOf(
      std::uint64_t sample) const = 0;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_DRAWS_H_
