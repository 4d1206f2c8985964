#ifndef FOREBAY_SERVER_DATASET_COMPOSED_JOINT_VERSION_H_
#define FOREBAY_SERVER_DATASET_COMPOSED_JOINT_VERSION_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "server/dataset/dataset.h"

namespace forebay::dataset::composed {

// The version of a dataset that is made of others: a digest (XXH3) of all that
// was added, in that order. The same on every host. Not thread-safe.
class JointVersion {
 public:
  // `kind` keeps those apart that are made in different ways.
  explicit JointVersion(std::string_view kind) : parts_(kind) {}

  JointVersion& Add(const Version& version);
  JointVersion& Add(std::uint64_t number);

  Version Get() const;

 private:
  std::string parts_;
};

}  // namespace forebay::dataset::composed

#endif  // FOREBAY_SERVER_DATASET_COMPOSED_JOINT_VERSION_H_
