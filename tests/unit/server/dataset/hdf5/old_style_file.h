#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_HDF5_OLD_STYLE_FILE_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_HDF5_OLD_STYLE_FILE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace forebay::dataset::hdf5 {

// Makes an HDF5 file of the oldest format (HDF5 File Format Specification v3.0,
// II.A, III and IV.A.1.a), whose groups may have any links. Objects are added
// before the groups that link to them.
class OldStyleFile {
 public:
  // A link's name, and the address of the object that it leads to.
  using Links = std::vector<std::pair<std::string, std::uint64_t>>;

  OldStyleFile();

  // Adds a dataset of `rows` numbers of type int32. Returns its address.
  std::uint64_t AddDataset(std::uint64_t rows);
  // Adds a group with these links. Returns its address.
  std::uint64_t AddGroup(const Links& links);
  // Adds `groups` groups. Each has one link to the next group, and the last has
  // one link to `target`; all links have the same name. Returns the address of
  // the first group, or `target` if there are no groups.
  std::uint64_t AddChain(int groups, const std::string& name,
                         std::uint64_t target);
  // Returns the bytes of the file, whose root group is at the address `root`.
  std::string Finish(std::uint64_t root) const;

 private:
  std::string bytes_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_HDF5_OLD_STYLE_FILE_H_
