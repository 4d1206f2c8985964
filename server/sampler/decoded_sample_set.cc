#include "server/sampler/decoded_sample_set.h"

#include <utility>

#include "server/base/check.h"

namespace forebay::sampler {
namespace {

// The number of samples among which Draw takes the oldest. With a larger
// number, samples stay for a shorter time, which saves a decode now and then.
// With a smaller number, less of one epoch's order is carried into the next.
constexpr int kDrawn = 8;

}  // namespace

void DecodedSampleSet::Want(Wants& wants, Slot slot) {
  if (slot >= wants.places.size()) wants.places.resize(slot + 1, kNone);
  wants.places[slot] = static_cast<std::uint32_t>(wants.slots.size());
  wants.slots.push_back(slot);
}

bool DecodedSampleSet::Unwant(Wants& wants, Slot slot) {
  if (slot >= wants.places.size() || wants.places[slot] == kNone) return false;
  const std::uint32_t place = wants.places[slot];
  wants.slots[place] = wants.slots.back();
  wants.places[wants.slots[place]] = place;
  wants.slots.pop_back();
  wants.places[slot] = kNone;
  return true;
}

void DecodedSampleSet::Link(Slot slot) {
  Entry& entry = slots_[slot];
  if (entry.wanted_by >= lists_.size()) lists_.resize(entry.wanted_by + 1);
  List& list = lists_[entry.wanted_by];
  entry.before = list.last;
  entry.behind = kNone;
  (list.last == kNone ? list.first : slots_[list.last].behind) = slot;
  list.last = slot;
}

void DecodedSampleSet::Unlink(Slot slot) {
  const Entry& entry = slots_[slot];
  List& list = lists_[entry.wanted_by];
  (entry.before == kNone ? list.first : slots_[entry.before].behind) =
      entry.behind;
  (entry.behind == kNone ? list.last : slots_[entry.behind].before) =
      entry.before;
}

void DecodedSampleSet::Restart(std::size_t member,
                               const SampleSet* seen_samples) {
  if (member >= wants_.size()) wants_.resize(member + 1);
  Wants& wants = wants_[member];
  for (Slot slot = 0; slot < slots_.size(); ++slot) {
    const bool did = Unwant(wants, slot);
    const bool does =
        seen_samples != nullptr && !seen_samples->Has(slots_[slot].sample);
    if (does) Want(wants, slot);
    if (did == does) continue;
    Unlink(slot);
    slots_[slot].wanted_by += does ? 1 : -1;
    Link(slot);
  }
}

void DecodedSampleSet::Put(std::uint64_t sample,
                           const std::vector<const SampleSet*>& seen_samples) {
  if (capacity_ == 0 || Has(sample)) return;
  if (slots_.size() >= capacity_) MakeRoom();
  const auto slot = static_cast<Slot>(slots_.size());
  slots_.push_back({.sample = sample, .serial = ++last_serial_});
  places_[sample] = slot;
  if (seen_samples.size() > wants_.size()) wants_.resize(seen_samples.size());
  for (std::size_t member = 0; member < seen_samples.size(); ++member) {
    if (seen_samples[member] == nullptr || seen_samples[member]->Has(sample))
      continue;
    Want(wants_[member], slot);
    ++slots_[slot].wanted_by;
  }
  Link(slot);
}

void DecodedSampleSet::SetCapacity(std::size_t capacity) {
  capacity_ = capacity;
  while (slots_.size() > capacity_) MakeRoom();
}

void DecodedSampleSet::MakeRoom() {
  for (const List& list : lists_) {
    if (list.first == kNone) continue;
    removed_.push_back(slots_[list.first].sample);
    Remove(list.first);
    return;
  }
}

std::vector<std::uint64_t> DecodedSampleSet::TakeRemoved() {
  std::erase_if(removed_, [this](std::uint64_t sample) { return Has(sample); });
  return std::exchange(removed_, {});
}

void DecodedSampleSet::Drop(std::uint64_t sample) {
  const auto place = places_.find(sample);
  if (place != places_.end()) Remove(place->second);
}

void DecodedSampleSet::Remove(Slot slot) {
  places_.erase(slots_[slot].sample);
  Unlink(slot);
  for (Wants& wants : wants_) Unwant(wants, slot);
  const auto last = static_cast<Slot>(slots_.size() - 1);
  if (slot != last) {
    // The last entry moves into the gap, and keeps its place in its list.
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

std::size_t DecodedSampleSet::Wanted(std::size_t member) const {
  return member < wants_.size() ? wants_[member].slots.size() : 0;
}

std::optional<std::uint64_t> DecodedSampleSet::Draw(
    std::size_t member, base::PhiloxStream& random) const {
  if (Wanted(member) == 0) return std::nullopt;
  const std::vector<Slot>& wanted = wants_[member].slots;
  const Entry* oldest = nullptr;
  for (int i = 0; i < kDrawn; ++i) {
    const Entry& entry = slots_[wanted[random.UniformInt(wanted.size())]];
    if (oldest == nullptr || entry.serial < oldest->serial) oldest = &entry;
  }
  return oldest->sample;
}

void DecodedSampleSet::Take(std::size_t member, std::uint64_t sample) {
  const auto place = places_.find(sample);
  if (place == places_.end() || member >= wants_.size()) return;
  if (!Unwant(wants_[member], place->second)) return;
  Unlink(place->second);
  --slots_[place->second].wanted_by;
  Link(place->second);
}

}  // namespace forebay::sampler
