#include "cuda/device_notes.h"

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::cuda {
namespace {

using tests::ElementsAre;
using tests::IsEmpty;
using tests::StartsWith;

DeviceInfo Usual() {
  DeviceInfo device;
  device.name = "NVIDIA A100-SXM4-40GB";
  device.compute_major = 8;
  return device;
}

TEST_CASE("Most GPUs need no device notes", "[cuda][device_notes]") {
  DeviceInfo device = Usual();
  CHECK_THAT(NotesOn(device), IsEmpty());
  device.compute_major = 7;
  device.compute_minor = 5;
  CHECK_THAT(NotesOn(device), IsEmpty());
}

TEST_CASE("Device notes say the compute mode of a GPU",
          "[cuda][device_notes]") {
  DeviceInfo device = Usual();
  device.mode = ComputeMode::kExclusive;
  CHECK_THAT(NotesOn(device), ElementsAre(StartsWith("One process at a time")));
  device.mps = true;
  CHECK_THAT(NotesOn(device), ElementsAre(StartsWith("MPS serves it: ")));
  device.mode = ComputeMode::kProhibited;
  device.mps = false;
  CHECK_THAT(NotesOn(device), ElementsAre(StartsWith("No process can use it")));
}

TEST_CASE("Device notes say that a GPU is an instance or old",
          "[cuda][device_notes]") {
  DeviceInfo device = Usual();
  device.name = "NVIDIA A100-SXM4-40GB MIG 1g.5gb";
  CHECK_THAT(NotesOn(device), ElementsAre(StartsWith("It is an instance")));
  device = Usual();
  device.compute_major = 7;
  CHECK_THAT(NotesOn(device), ElementsAre(StartsWith("It is older than the")));
}

}  // namespace
}  // namespace forebay::cuda
