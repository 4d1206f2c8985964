#include "server/dataset/hdf5/tree.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/base/status.h"
#include "server/dataset/hdf5/links.h"
#include "server/dataset/hdf5/object_header.h"
#include "server/dataset/hdf5/path_pattern.h"
#include "server/dataset/hdf5/superblock.h"

namespace forebay::dataset::hdf5 {
namespace {

constexpr std::size_t kDeepest = 32;  // groups within groups
constexpr std::size_t kMostObjects = 4096;
constexpr std::size_t kMostNamed = 8;  // in an error

std::string NamesOf(const std::vector<Link>& links) {
  std::string names;
  for (std::size_t i = 0; i < std::min(links.size(), kMostNamed); ++i)
    absl::StrAppend(&names, i == 0 ? "" : ", ", links[i].name);
  if (links.size() > kMostNamed) absl::StrAppend(&names, ", ...");
  return names.empty() ? "nothing" : names;
}

bool IsDataset(const std::vector<Message>& messages) {
  return FindMessage(messages, MessageType::kLayout) != nullptr;
}

absl::Status IsNoObject(const std::string& path) {
  return absl::UnimplementedError(absl::StrCat(
      path, ": is a link to another name or file, which is not followed"));
}

std::string Join(std::string_view group, std::string_view name) {
  return absl::StrCat(std::string(group), group.empty() ? "" : "/",
                      std::string(name));
}

// The dataset at that path; parts from that number on name a member.
absl::StatusOr<FoundArray> ArrayAt(const FileView& file,
                                   const std::vector<Message>& messages,
                                   std::string path,
                                   const std::vector<std::string>& parts,
                                   std::size_t used) {
  FoundArray found;
  found.path = std::move(path);
  auto array = ReadArrayLayout(file, messages);
  if (!array.ok()) return base::Annotate(array.status(), found.path);
  found.array = *std::move(array);
  // A member's name may have a slash in it.
  for (std::size_t i = used; i < parts.size(); ++i)
    absl::StrAppend(&found.member, i == used ? "" : "/", parts[i]);
  const bool has_member =
      found.member.empty() ||
      std::any_of(found.array.type.members.begin(),
                  found.array.type.members.end(),
                  [&](const Member& one) { return one.name == found.member; });
  if (has_member) return found;
  return absl::NotFoundError(absl::StrCat(found.path, "/", found.member,
                                          ": is not there: ", found.path,
                                          " has no such member"));
}

}  // namespace

absl::StatusOr<FoundArray> FindArrayIn(FileView& file, std::uint64_t address,
                                       std::string_view group,
                                       std::string_view path) {
  const std::vector<std::string> parts =
      absl::StrSplit(std::string(path), '/', absl::SkipEmpty());
  std::string at(group);
  for (std::size_t i = 0;; ++i) {
    FOREBAY_ASSIGN_OR_RETURN(const std::vector<Message> messages,
                             ReadMessages(file, address));
    if (IsDataset(messages)) return ArrayAt(file, messages, at, parts, i);
    FOREBAY_ASSIGN_OR_RETURN(const std::vector<Link> links,
                             ReadLinks(file, messages));
    if (i == parts.size()) {
      return absl::NotFoundError(
          absl::StrCat(at.empty() ? "/" : at, ": is a group, of ",
                       NamesOf(links), "; a dataset is wanted"));
    }
    const auto link =
        std::find_if(links.begin(), links.end(),
                     [&](const Link& one) { return one.name == parts[i]; });
    const std::string whole = Join(group, path);
    if (link == links.end()) {
      return absl::NotFoundError(
          absl::StrCat(whole, ": is not there: ", at.empty() ? "the file" : at,
                       " has ", NamesOf(links)));
    }
    at = Join(at, parts[i]);
    if (link->address == kNoAddress) return IsNoObject(at);
    address = link->address;
  }
}

absl::StatusOr<FoundArray> FindArray(FileView& file, std::string_view path) {
  FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t root, ReadSuperblock(file));
  return FindArrayIn(file, root, {}, path);
}

absl::StatusOr<std::vector<GroupEntry>> ListGroup(FileView& file,
                                                  std::string_view path) {
  FOREBAY_ASSIGN_OR_RETURN(std::uint64_t address, ReadSuperblock(file));
  const std::vector<std::string> parts =
      absl::StrSplit(std::string(path), '/', absl::SkipEmpty());
  for (std::size_t i = 0;; ++i) {
    FOREBAY_ASSIGN_OR_RETURN(const std::vector<Message> messages,
                             ReadMessages(file, address));
    FOREBAY_ASSIGN_OR_RETURN(const std::vector<Link> links,
                             ReadLinks(file, messages));
    std::vector<GroupEntry> entries;
    for (const Link& link : links) {
      if (link.address == kNoAddress) continue;
      if (i == parts.size()) entries.push_back({link.name, link.address});
      if (i < parts.size() && link.name == parts[i])
        entries.assign(1, {link.name, link.address});
    }
    if (i == parts.size()) return entries;
    if (entries.empty()) {
      return absl::NotFoundError(
          absl::StrCat(std::string(path), ": is not there"));
    }
    address = entries.front().address;
  }
}

absl::StatusOr<FoundArray> FindFirstArray(FileView& file,
                                          const std::string& name) {
  const auto pattern = SplitPattern(name);
  if (!pattern.has_value()) return FindArray(file, name);
  FOREBAY_ASSIGN_OR_RETURN(const std::vector<GroupEntry> objects,
                           ListGroup(file, pattern->group));
  if (objects.empty()) {
    return absl::NotFoundError(absl::StrCat(
        pattern->group.empty() ? "/" : pattern->group, ": has no objects"));
  }
  FOREBAY_ASSIGN_OR_RETURN(
      FoundArray found,
      FindArrayIn(
          file, objects.front().address,
          absl::StrCat(pattern->group, pattern->group.empty() ? "" : "/",
                       objects.front().name),
          pattern->rest));
  found.array.MakeWhole();
  // The dataset's path may be a part of the name, before a member's.
  const std::size_t member = found.member.empty() ? 0 : found.member.size() + 1;
  found.path = name.substr(0, name.size() - member);
  return found;
}

absl::StatusOr<std::vector<ListedArray>> ListArrays(FileView& file) {
  struct Object {
    std::string path;
    std::uint64_t address = 0;
    std::size_t depth = 0;
  };
  FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t root, ReadSuperblock(file));
  std::vector<Object> pending = {{"", root, 0}};
  std::set<std::uint64_t> groups;
  std::vector<ListedArray> found;
  for (std::size_t objects = 0; !pending.empty(); ++objects) {
    if (objects == kMostObjects) {
      return absl::UnimplementedError(
          absl::StrCat("has more than ", kMostObjects,
                       " objects; name the datasets that are wanted"));
    }
    const Object object = std::move(pending.back());
    pending.pop_back();
    FOREBAY_ASSIGN_OR_RETURN(const std::vector<Message> messages,
                             ReadMessages(file, object.address));
    if (IsDataset(messages)) {
      auto array = ReadArrayLayout(file, messages);
      if (!array.ok() && !absl::IsUnimplemented(array.status()))
        return base::Annotate(array.status(), object.path);
      found.push_back({object.path, std::move(array)});
      continue;
    }
    // A group may be its own descendant.
    if (!groups.insert(object.address).second || object.depth == kDeepest)
      continue;
    FOREBAY_ASSIGN_OR_RETURN(const std::vector<Link> links,
                             ReadLinks(file, messages));
    for (const Link& link : links) {
      if (link.address == kNoAddress) continue;
      pending.push_back({object.path.empty()
                             ? link.name
                             : absl::StrCat(object.path, "/", link.name),
                         link.address, object.depth + 1});
    }
  }
  std::sort(found.begin(), found.end(),
            [](const ListedArray& a, const ListedArray& b) {
              return a.path < b.path;
            });
  return found;
}

}  // namespace forebay::dataset::hdf5
