#ifndef FOREBAY_TESTS_INTEGRATION_CPP_READING_H_
#define FOREBAY_TESTS_INTEGRATION_CPP_READING_H_

// The parts that the tests of reading batches have in common.

#include <cstdint>
#include <string>
#include <vector>

#include "client/cpp/forebay.hpp"
#include "tests/integration/cpp/daemon.h"
#include "tests/integration/cpp/pictures.h"

namespace cpp_user {

// Returns the options for a loader of the folder `uri`. Both arguments must
// outlive the options.
forebay_loader_options OptionsFor(const Daemon& daemon, const std::string& uri);
inline forebay_loader_options OptionsFor(const Daemon& daemon,
                                         const Pictures& pictures) {
  return OptionsFor(daemon, pictures.path());
}

// Returns a pipeline of whole pictures: uint8, NHWC.
forebay::Pipeline WholePictures();
// Returns a pipeline of random crops of 16 x 16 pixels, flipped at random:
// float32, NCHW.
forebay::Pipeline RandomCrops();

// Returns the numbers of a batch's samples.
std::vector<std::int64_t> IdsOf(const forebay::Batch& batch);
// Returns a CRC-32 of the CRC-32s of a batch's fields, which lie on the host.
std::uint32_t SumOf(const forebay::Batch& batch);

// The samples and batches that were read in an epoch.
struct Epoch {
  std::vector<std::int64_t> ids;    // of all samples
  std::vector<std::uint32_t> sums;  // of all batches
};
bool operator==(const Epoch& a, const Epoch& b);

// Reads the rest of the current epoch.
Epoch ReadRest(forebay::Loader& loader);
Epoch ReadEpoch(forebay::Loader& loader, std::uint64_t epoch,
                std::uint64_t first_sample = 0);

// Returns the numbers from `first` to `end` - 1.
std::vector<std::int64_t> Numbers(std::int64_t first, std::int64_t end);
std::vector<std::int64_t> Sorted(std::vector<std::int64_t> numbers);

// The failure of a call; its status is FOREBAY_OK if the call threw no Error.
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

// Opens a loader, which must fail, and returns the failure.
Failure OpeningOf(const forebay_loader_options& options,
                  const forebay::Pipeline& pipeline = WholePictures());

// Opens a loader by the C interface. The caller frees it with
// forebay_loader_free.
forebay_loader* OpenInC(const forebay_loader_options& options,
                        const forebay::Pipeline& pipeline = WholePictures());

}  // namespace cpp_user

#endif  // FOREBAY_TESTS_INTEGRATION_CPP_READING_H_
