#include "server/sampler/shelf.h"

#include <utility>

#include "server/base/check.h"

namespace forebay::sampler {
namespace {

// More of them keep samples for a shorter time, which saves a decode now and
// then; fewer leave less of one epoch's order in the next.
constexpr int kDrawn = 8;

}  // namespace

void Shelf::Want(Wants& wants, Slot slot) {
  if (slot >= wants.places.size()) wants.places.resize(slot + 1, kNone);
  wants.places[slot] = static_cast<std::uint32_t>(wants.slots.size());
  wants.slots.push_back(slot);
}

bool Shelf::Unwant(Wants& wants, Slot slot) {
  if (slot >= wants.places.size() || wants.places[slot] == kNone) return false;
  const std::uint32_t place = wants.places[slot];
  wants.slots[place] = wants.slots.back();
  wants.places[wants.slots[place]] = place;
  wants.slots.pop_back();
  wants.places[slot] = kNone;
  return true;
}

void Shelf::Link(Slot slot) {
  Entry& entry = slots_[slot];
  if (entry.wanted_by >= lists_.size()) lists_.resize(entry.wanted_by + 1);
  List& list = lists_[entry.wanted_by];
  entry.before = list.last;
  entry.behind = kNone;
  (list.last == kNone ? list.first : slots_[list.last].behind) = slot;
  list.last = slot;
}

void Shelf::Unlink(Slot slot) {
  const Entry& entry = slots_[slot];
  List& list = lists_[entry.wanted_by];
  (entry.before == kNone ? list.first : slots_[entry.before].behind) =
      entry.behind;
  (entry.behind == kNone ? list.last : slots_[entry.behind].before) =
      entry.before;
}

void Shelf::Restart(std::size_t reader, const SampleSet* seen) {
  if (reader >= wants_.size()) wants_.resize(reader + 1);
  Wants& wants = wants_[reader];
  for (Slot slot = 0; slot < slots_.size(); ++slot) {
    const bool did = Unwant(wants, slot);
    const bool does = seen != nullptr && !seen->Has(slots_[slot].sample);
    if (does) Want(wants, slot);
    if (did == does) continue;
    Unlink(slot);
    slots_[slot].wanted_by += does ? 1 : -1;
    Link(slot);
  }
}

void Shelf::Put(std::uint64_t sample,
                const std::vector<const SampleSet*>& seen) {
  if (capacity_ == 0 || Has(sample)) return;
  if (slots_.size() >= capacity_) MakeRoom();
  const auto slot = static_cast<Slot>(slots_.size());
  slots_.push_back({.sample = sample, .serial = ++last_serial_});
  places_[sample] = slot;
  if (seen.size() > wants_.size()) wants_.resize(seen.size());
  for (std::size_t reader = 0; reader < seen.size(); ++reader) {
    if (seen[reader] == nullptr || seen[reader]->Has(sample)) continue;
    Want(wants_[reader], slot);
    ++slots_[slot].wanted_by;
  }
  Link(slot);
}

void Shelf::SetCapacity(std::size_t capacity) {
  capacity_ = capacity;
  while (slots_.size() > capacity_) MakeRoom();
}

void Shelf::MakeRoom() {
  for (const List& list : lists_) {
    if (list.first == kNone) continue;
    removed_.push_back(slots_[list.first].sample);
    Remove(list.first);
    return;
  }
}

std::vector<std::uint64_t> Shelf::TakeRemoved() {
  std::erase_if(removed_, [this](std::uint64_t sample) { return Has(sample); });
  return std::exchange(removed_, {});
}

void Shelf::Drop(std::uint64_t sample) {
  const auto known = places_.find(sample);
  if (known != places_.end()) Remove(known->second);
}

void Shelf::Remove(Slot slot) {
  places_.erase(slots_[slot].sample);
  Unlink(slot);
  for (Wants& wants : wants_) Unwant(wants, slot);
  const auto last = static_cast<Slot>(slots_.size() - 1);
  if (slot != last) {
    // The last one moves there, and keeps its place in its list.
    for (Wants& wants : wants_) {
      if (Unwant(wants, last)) Want(wants, slot);
    }
    const Entry& entry = slots_[slot] = slots_[last];
    places_[entry.sample] = slot;
    List& list = lists_[entry.wanted_by];
    (entry.before == kNone ? list.first : slots_[entry.before].behind) = slot;
    (entry.behind == kNone ? list.last : slots_[entry.behind].before) = slot;
  }
  slots_.pop_back();
}

std::size_t Shelf::Wanted(std::size_t reader) const {
  return reader < wants_.size() ? wants_[reader].slots.size() : 0;
}

std::optional<std::uint64_t> Shelf::Draw(std::size_t reader,
                                         base::PhiloxStream& random) const {
  if (Wanted(reader) == 0) return std::nullopt;
  const std::vector<Slot>& wanted = wants_[reader].slots;
  const Entry* oldest = nullptr;
  for (int i = 0; i < kDrawn; ++i) {
    const Entry& entry = slots_[wanted[random.UniformInt(wanted.size())]];
    if (oldest == nullptr || entry.serial < oldest->serial) oldest = &entry;
  }
  return oldest->sample;
}

void Shelf::Take(std::size_t reader, std::uint64_t sample) {
  const auto known = places_.find(sample);
  if (known == places_.end() || reader >= wants_.size()) return;
  if (!Unwant(wants_[reader], known->second)) return;
  Unlink(known->second);
  --slots_[known->second].wanted_by;
  Link(known->second);
}

}  // namespace forebay::sampler
