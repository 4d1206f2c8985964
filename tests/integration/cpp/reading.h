#ifndef FOREBAY_TESTS_INTEGRATION_CPP_READING_H_
#define FOREBAY_TESTS_INTEGRATION_CPP_READING_H_

// How a C++ program reads batches: what the tests have in common.

#include <cstdint>
#include <string>
#include <vector>

#include "client/cpp/forebay.hpp"
#include "tests/integration/cpp/daemon.h"
#include "tests/integration/cpp/pictures.h"

namespace cpp_user {

// Options of a loader of the folder `uri`. Both arguments outlive them.
forebay_loader_options OptionsFor(const Daemon& daemon, const std::string& uri);
inline forebay_loader_options OptionsFor(const Daemon& daemon,
                                         const Pictures& pictures) {
  return OptionsFor(daemon, pictures.path());
}

// Whole pictures, as uint8 NHWC.
forebay::Pipeline WholePictures();
// Random crops of 16 x 16 pixels, perhaps flipped, as float32 NCHW.
forebay::Pipeline RandomCrops();

// The numbers of a batch's samples.
std::vector<std::int64_t> IdsOf(const forebay::Batch& batch);
// CRC-32 of what each field of a batch has, on the host.
std::uint32_t SumOf(const forebay::Batch& batch);

// The samples and batches that were read of an epoch.
struct Epoch {
  std::vector<std::int64_t> ids;    // of all samples
  std::vector<std::uint32_t> sums;  // of all batches
};
bool operator==(const Epoch& a, const Epoch& b);

// Reads what is left of the epoch under way.
Epoch ReadRest(forebay::Loader& loader);
Epoch ReadEpoch(forebay::Loader& loader, std::uint64_t epoch,
                std::uint64_t first_sample = 0);

// The numbers from `first` on, below `end`.
std::vector<std::int64_t> Numbers(std::int64_t first, std::int64_t end);
std::vector<std::int64_t> Sorted(std::vector<std::int64_t> numbers);

// How a call failed; FOREBAY_OK if it did not throw an Error.
struct Failure {
  forebay_status status = FOREBAY_OK;
  std::string text;
};

template <class Call>
Failure FailureOf(const Call& call) {
  try {
    call();
  } catch (const forebay::Error& error) {
    return {error.status(), error.what()};
  }
  return {};
}

// The failure to open a loader.
Failure OpeningOf(const forebay_loader_options& options,
                  const forebay::Pipeline& pipeline = WholePictures());

// A loader of the C interface, opened; end it with forebay_loader_free.
forebay_loader* OpenInC(const forebay_loader_options& options,
                        const forebay::Pipeline& pipeline = WholePictures());

}  // namespace cpp_user

#endif  // FOREBAY_TESTS_INTEGRATION_CPP_READING_H_
