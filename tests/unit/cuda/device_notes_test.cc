#include "cuda/device_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

DeviceInfo Usual() {
  DeviceInfo device;
  device.name = "NVIDIA A100-SXM4-40GB";
  device.compute_major = 8;
  return device;
}

TEST(DeviceNotesTest, MostGpusNeedNone) {
  DeviceInfo device = Usual();
  EXPECT_THAT(NotesOn(device), IsEmpty());
  device.compute_major = 7;
  device.compute_minor = 5;
  EXPECT_THAT(NotesOn(device), IsEmpty());
}

TEST(DeviceNotesTest, ComputeModesAreSaid) {
  DeviceInfo device = Usual();
  device.mode = ComputeMode::kExclusive;
  EXPECT_THAT(NotesOn(device),
              ElementsAre(StartsWith("One process at a time")));
  device.mps = true;
  EXPECT_THAT(NotesOn(device), ElementsAre(StartsWith("MPS serves it: ")));
  device.mode = ComputeMode::kProhibited;
  device.mps = false;
  EXPECT_THAT(NotesOn(device),
              ElementsAre(StartsWith("No process can use it")));
}

TEST(DeviceNotesTest, InstancesAndOldGpusAreSaid) {
  DeviceInfo device = Usual();
  device.name = "NVIDIA A100-SXM4-40GB MIG 1g.5gb";
  EXPECT_THAT(NotesOn(device), ElementsAre(StartsWith("It is an instance")));
  device = Usual();
  device.compute_major = 7;
  EXPECT_THAT(NotesOn(device), ElementsAre(StartsWith("It is older than the")));
}

}  // namespace
}  // namespace forebay::cuda
