#include "server/dataset/hdf5/tree.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "server/base/status.h"
#include "server/dataset/hdf5/links.h"
#include "server/dataset/hdf5/object_header.h"
#include "server/dataset/hdf5/path_pattern.h"
#include "server/dataset/hdf5/superblock.h"

namespace forebay::dataset::hdf5 {
namespace {

// Bounds of a listing: the objects of a file, and the names that an error
// lists.
constexpr std::size_t kMostObjects = 4096;
constexpr std::size_t kMostNamed = 8;

// Returns the names of the first links, for an error.
std::string NamesOf(absl::Span<const Link> links) {
  std::string names;
  for (std::size_t i = 0; i < std::min(links.size(), kMostNamed); ++i)
    absl::StrAppend(&names, i == 0 ? "" : ", ", links[i].name);
  if (links.size() > kMostNamed) absl::StrAppend(&names, ", ...");
  return names.empty() ? "nothing" : names;
}

// Returns the link of that name, or null. Links are sorted by name.
const Link* FindLink(absl::Span<const Link> links, std::string_view name) {
  const auto* const link = std::lower_bound(
      links.begin(), links.end(), name,
      [](const Link& one, std::string_view of) { return one.name < of; });
  return link == links.end() || link->name != name ? nullptr : link;
}

// Adds the path of an object to an error about it. Errors about missing bytes
// or missing memory are returned as they are.
absl::Status At(const std::string& path, const absl::Status& status) {
  const bool is_about_it = !path.empty() && !absl::IsUnavailable(status) &&
                           !absl::IsResourceExhausted(status);
  return is_about_it ? base::Annotate(status, path) : status;
}

// Whether the object with these messages is a dataset, which always has a
// layout.
bool IsDataset(const std::vector<Message>& messages) {
  return FindMessage(messages, MessageType::kLayout) != nullptr;
}

// Makes the error of a path that leads through a soft or external link.
absl::Status IsNoObject(const std::string& path) {
  return absl::UnimplementedError(absl::StrCat(
      path, ": is a link to another name or file, which is not followed"));
}

// Returns the path of an object in a group. The root group has an empty path.
std::string Join(std::string_view group, std::string_view name) {
  return absl::StrCat(std::string(group), group.empty() ? "" : "/",
                      std::string(name));
}

// Returns the links of the group at an address. Errors name its path, `at`.
absl::StatusOr<absl::Span<const Link>> LinksOf(FileView& file,
                                               std::uint64_t address,
                                               const std::string& at) {
  const auto messages = ReadMessages(file, address);
  if (!messages.ok()) return At(at, messages.status());
  const auto links = ReadLinks(file, address, *messages);
  if (!links.ok()) return At(at, links.status());
  return *links;
}

// Returns the links of the group with that path.
absl::StatusOr<absl::Span<const Link>> LinksAt(FileView& file,
                                               std::string_view path) {
  FOREBAY_ASSIGN_OR_RETURN(std::uint64_t address, ReadSuperblock(file));
  std::string at;
  for (const std::string& part : std::vector<std::string>(
           absl::StrSplit(std::string(path), '/', absl::SkipEmpty()))) {
    FOREBAY_ASSIGN_OR_RETURN(const absl::Span<const Link> links,
                             LinksOf(file, address, at));
    const Link* const link = FindLink(links, part);
    if (link == nullptr || link->address == kNoAddress) {
      return absl::NotFoundError(
          absl::StrCat(std::string(path), ": is not there"));
    }
    address = link->address;
    at = Join(at, part);
  }
  return LinksOf(file, address, at);
}

// Returns the dataset at `path`. The items of `parts` from number `used` on
// name a member of the dataset.
absl::StatusOr<NamedArray> ArrayAt(const FileView& file,
                                   const std::vector<Message>& messages,
                                   std::string path,
                                   const std::vector<std::string>& parts,
                                   std::size_t used) {
  NamedArray found;
  found.path = std::move(path);
  auto array = ReadArrayLayout(file, messages);
  if (!array.ok()) return base::Annotate(array.status(), found.path);
  found.array = *std::move(array);
  // The parts are joined again, as a member's name may contain a slash.
  for (std::size_t i = used; i < parts.size(); ++i)
    absl::StrAppend(&found.member, i == used ? "" : "/", parts[i]);
  const bool has_member =
      found.member.empty() ||
      std::any_of(
          found.array.type.members.begin(), found.array.type.members.end(),
          [&](const CompoundMember& one) { return one.name == found.member; });
  if (has_member) return found;
  return absl::NotFoundError(absl::StrCat(found.path, "/", found.member,
                                          ": is not there: ", found.path,
                                          " has no such member"));
}

}  // namespace

absl::StatusOr<NamedArray> FindArrayIn(FileView& file, std::uint64_t address,
                                       std::string_view group,
                                       std::string_view path) {
  const std::vector<std::string> parts =
      absl::StrSplit(std::string(path), '/', absl::SkipEmpty());
  std::string at(group);
  // Each round of the loop follows one more part of the path. An empty path
  // means the root, which is a group.
  for (std::size_t i = 0;; ++i) {
    const auto messages = ReadMessages(file, address);
    if (!messages.ok()) return At(at, messages.status());
    if (IsDataset(*messages)) return ArrayAt(file, *messages, at, parts, i);
    const auto links = ReadLinks(file, address, *messages);
    if (!links.ok()) return At(at, links.status());
    if (i == parts.size()) {
      return absl::NotFoundError(
          absl::StrCat(at.empty() ? "/" : at, ": is a group, of ",
                       NamesOf(*links), "; a dataset is wanted"));
    }
    const Link* const link = FindLink(*links, parts[i]);
    const std::string whole = Join(group, path);
    if (link == nullptr) {
      return absl::NotFoundError(
          absl::StrCat(whole, ": is not there: ", at.empty() ? "the file" : at,
                       " has ", NamesOf(*links)));
    }
    at = Join(at, parts[i]);
    if (link->address == kNoAddress) return IsNoObject(at);
    address = link->address;
  }
}

absl::StatusOr<NamedArray> FindArray(FileView& file, std::string_view path) {
  FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t root, ReadSuperblock(file));
  return FindArrayIn(file, root, {}, path);
}

absl::StatusOr<GroupObjects> ListGroup(FileView& file, std::string_view path) {
  FOREBAY_ASSIGN_OR_RETURN(const absl::Span<const Link> links,
                           LinksAt(file, path));
  std::uint64_t bytes = links.size() * sizeof(GroupEntry);
  for (const Link& link : links) bytes += base::HeapBytes(link.name.size());
  GroupObjects objects;
  FOREBAY_ASSIGN_OR_RETURN(objects.reservation, file.memory().Keep(bytes));
  objects.entries.reserve(links.size());
  for (const Link& link : links) {
    if (link.address != kNoAddress)
      objects.entries.push_back({link.name, link.address});
  }
  return objects;
}

absl::StatusOr<NamedArray> FindFirstArray(FileView& file,
                                          const std::string& name) {
  const auto pattern = SplitPattern(name);
  if (!pattern.has_value()) return FindArray(file, name);
  FOREBAY_ASSIGN_OR_RETURN(const absl::Span<const Link> links,
                           LinksAt(file, pattern->group));
  const auto* const first =
      std::find_if(links.begin(), links.end(),
                   [](const Link& link) { return link.address != kNoAddress; });
  if (first == links.end()) {
    return absl::NotFoundError(absl::StrCat(
        pattern->group.empty() ? "/" : pattern->group, ": has no objects"));
  }
  FOREBAY_ASSIGN_OR_RETURN(
      NamedArray found,
      FindArrayIn(file, first->address, Join(pattern->group, first->name),
                  pattern->rest));
  found.array.MakeWhole();
  // If the pattern names a member, the member's part is cut off.
  const std::size_t member = found.member.empty() ? 0 : found.member.size() + 1;
  found.path = name.substr(0, name.size() - member);
  return found;
}

absl::Status ArrayLister::Count(std::uint64_t bytes) {
  FOREBAY_RETURN_IF_ERROR(memory_->Grow(bytes));
  counted_ += bytes;
  return absl::OkStatus();
}

absl::Status ArrayLister::Run(FileView& file) {
  if (!has_begun_) {
    FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t root, ReadSuperblock(file));
    pending_.push_back({"", root, 0});
    has_begun_ = true;
  }
  while (!pending_.empty()) FOREBAY_RETURN_IF_ERROR(Step(file));
  std::sort(datasets_.begin(), datasets_.end(),
            [](const ListedArray& a, const ListedArray& b) {
              return a.path < b.path;
            });
  return absl::OkStatus();
}

absl::Status ArrayLister::Step(FileView& file) {
  const Object object = pending_.back();
  // A dataset with several paths is read once.
  const auto known = arrays_.find(object.address);
  if (known != arrays_.end()) {
    datasets_.push_back({object.path, known->second});
    pending_.pop_back();
    return absl::OkStatus();
  }
  const auto messages = ReadMessages(file, object.address);
  if (absl::IsUnimplemented(messages.status()) && !object.path.empty()) {
    datasets_.push_back({object.path, messages.status()});
    pending_.pop_back();
    return absl::OkStatus();
  }
  if (!messages.ok()) return At(object.path, messages.status());
  if (IsDataset(*messages)) return AddArray(file, object, *messages);
  // Each group is listed once, because a hard link may make a group its own
  // descendant.
  if (groups_.contains(object.address)) {
    pending_.pop_back();
    return absl::OkStatus();
  }
  if (object.depth >= kTooDeep) {
    deep_groups_.emplace(object.address, object.path);
    pending_.pop_back();
    return absl::OkStatus();
  }
  return AddLinks(file, object, *messages);
}

absl::Status ArrayLister::AddArray(const FileView& file, const Object& object,
                                   const std::vector<Message>& messages) {
  // The parsed layout takes more memory than the messages: a compound's members
  // are objects with a name and a description. The factor is an upper estimate.
  constexpr std::uint64_t kOfByte = 32;
  std::uint64_t bytes = sizeof(ArrayLayout);
  for (const Message& message : messages)
    bytes += kOfByte * message.body.size();
  FOREBAY_RETURN_IF_ERROR(Count(bytes));
  auto array = ReadArrayLayout(file, messages);
  if (!array.ok() && !absl::IsUnimplemented(array.status()))
    return At(object.path, array.status());
  if (array.ok()) {
    const auto shared = std::make_shared<const ArrayLayout>(*std::move(array));
    arrays_.emplace(object.address, shared);
    datasets_.push_back({object.path, shared});
  } else {
    datasets_.push_back({object.path, array.status()});
  }
  pending_.pop_back();
  return absl::OkStatus();
}

absl::Status ArrayLister::AddLinks(FileView& file, const Object& group,
                                   const std::vector<Message>& messages) {
  const auto links = ReadLinks(file, group.address, messages);
  if (!links.ok()) return At(group.path, links.status());
  groups_.insert(group.address);
  // A longer path may have led to the group before.
  deep_groups_.erase(group.address);
  pending_.pop_back();
  // The last pending object comes next. This order decides which path a group
  // with several hard links has, and saved indexes have that path.
  for (const Link& link : *links) {
    if (link.address == kNoAddress) continue;
    if (++objects_ > kMostObjects) {
      return absl::UnimplementedError(
          absl::StrCat("has more than ", kMostObjects,
                       " objects; name the datasets that are wanted"));
    }
    std::string path = Join(group.path, link.name);
    // The bytes are counted twice: for the pending object, and for the dataset
    // that the object may turn out to be.
    FOREBAY_RETURN_IF_ERROR(Count(2 * (sizeof(Object) + sizeof(ListedArray) +
                                       base::HeapBytes(path.size()))));
    pending_.push_back({std::move(path), link.address, group.depth + 1});
  }
  return absl::OkStatus();
}

}  // namespace forebay::dataset::hdf5
