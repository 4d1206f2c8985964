#ifndef FOREBAY_SERVER_SAMPLER_DRAWS_H_
#define FOREBAY_SERVER_SAMPLER_DRAWS_H_

#include <cstdint>
#include <optional>

namespace forebay::sampler {

// The samples of one reader's epoch where they are not known before they are
// asked for. Thread-safe. Shared by who starts epochs and who reads them. Never
// blocks; no errors.
class Draws {
 public:
  virtual ~Draws() = default;

  // The sample at `position`, which is not before the one that the epoch was
  // started at, and in it: drawn when it is first asked for, with all before
  // it, and the same from then on.
  virtual std::uint64_t At(std::uint64_t position) = 0;

  // Where a sample that was not drawn yet will stand, by guess; one that was,
  // and may be wanted soon after the epoch, behind its end. Else nullopt.
  virtual std::optional<std::uint64_t> PositionOf(
      std::uint64_t sample) const = 0;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_DRAWS_H_
