// SPDX-License-Identifier: Apache-2.0
#include "occupied.hpp"

#include <algorithm>

namespace tilewright
{

bool Ranges::add(Range range)
{
    const auto first =
        std::lower_bound(list_.begin(), list_.end(), range.begin,
                         [](const Range &one, Bytes begin) { return one.end < begin; });
    auto last = first;
    while (last != list_.end() && last->begin <= range.end) {
        ++last;
    }
    if (first == last) {
        list_.insert(first, range);
        return true;
    }
    if (first->begin <= range.begin && range.end <= first->end) {
        return false;
    }
    first->begin = std::min(first->begin, range.begin);
    first->end = std::max((last - 1)->end, range.end);
    list_.erase(first + 1, last);
    return true;
}

LifeTree::LifeTree(const std::vector<Bytes> &begins, const std::vector<Bytes> &ends)
{
    for (std::size_t u = 0; u < begins.size(); ++u) {
        if (begins[u] < ends[u]) {
            ticks_.push_back(begins[u]);
        }
    }
    std::sort(ticks_.begin(), ticks_.end());
    ticks_.erase(std::unique(ticks_.begin(), ticks_.end()), ticks_.end());
    while (width_ < ticks_.size()) {
        width_ *= 2;
    }
}

std::size_t LifeTree::at(Bytes tick) const
{
    return static_cast<std::size_t>(std::lower_bound(ticks_.begin(), ticks_.end(), tick) -
                                    ticks_.begin());
}

void LifeTree::nodes_of(Bytes begin, Bytes end, std::vector<std::size_t> &found) const
{
    found.clear();
    if (begin >= end) {
        return;
    }
    std::size_t low = at(begin) + width_, high = at(end) + width_;
    for (; low < high; low /= 2, high /= 2) {
        if (low % 2 == 1) {
            found.push_back(low++);
        }
        if (high % 2 == 1) {
            found.push_back(--high);
        }
    }
}

Occupied::Occupied(const std::vector<Bytes> &begins, const std::vector<Bytes> &ends)
    : begins_(begins), ends_(ends), tree_(begins, ends), here_(tree_.width()),
      within_(2 * tree_.width()), seen_(tree_.width())
{
}

void Occupied::clear()
{
    std::fill(here_.begin(), here_.end(), Ranges{});
    std::fill(within_.begin(), within_.end(), Ranges{});
}

void Occupied::add(int unit, Range range)
{
    tree_.nodes_of(begins_[unit], ends_[unit], nodes_);
    for (std::size_t node : nodes_) {
        if (node < here_.size()) {
            here_[node].add(range);
        }
        // What is within a node is within all above.
        while (node > 0 && within_[node].add(range)) {
            node /= 2;
        }
    }
}

Bytes Occupied::lowest(int unit, const Unit &shape, std::vector<Zone> &zones)
{
    rests_.clear();
    merge(shape.size, zones);
    collect(zones_);
    tree_.nodes_of(begins_[unit], ends_[unit], nodes_);
    ++turn_;
    for (std::size_t node : nodes_) {
        collect(within_[node].list());
        for (std::size_t up = node / 2; up > 0 && seen_[up] != turn_; up /= 2) {
            seen_[up] = turn_;
            collect(here_[up].list());
        }
    }
    return lowest_beside(shape);
}

Bytes Occupied::highest(int unit)
{
    Bytes end = 0;
    const auto raise = [&end](const std::vector<Range> &list) {
        end = list.empty() ? end : std::max(end, list.back().end);
    };
    tree_.nodes_of(begins_[unit], ends_[unit], nodes_);
    for (std::size_t node : nodes_) {
        raise(within_[node].list());
        for (std::size_t up = node / 2; up > 0; up /= 2) {
            raise(here_[up].list());
        }
    }
    return end;
}

// Writes the zones of an offset as ranges that a unit of `size` bytes must miss.
void Occupied::merge(Bytes size, std::vector<Zone> &zones)
{
    std::sort(zones.begin(), zones.end(),
              [](const Zone &a, const Zone &b) { return a.low < b.low; });
    zones_.clear();
    for (const Zone &zone : zones) {
        if (!zones_.empty() && zone.low < zones_.back().end) {
            zones_.back().end = std::max(zones_.back().end, zone.high);
        } else {
            zones_.push_back({zone.low + size, zone.high});
        }
    }
}

void Occupied::collect(const std::vector<Range> &list)
{
    if (!list.empty()) {
        rests_.push_back({list.data(), list.data() + list.size()});
    }
}

// The lowest offset at which the unit misses all ranges of `rests_`: each list in turn moves it up,
// until none does.
Bytes Occupied::lowest_beside(const Unit &shape)
{
    Bytes offset = align_up(shape, 0);
    std::size_t turn = 0, quiet = 0;
    while (quiet < rests_.size()) {
        Rest &rest = rests_[turn];
        ++quiet;
        while (rest.next != rest.end && rest.next->begin < offset + shape.size) {
            if (offset < rest.next->end) {
                offset = align_up(shape, rest.next->end);
                quiet = 1;
            }
            ++rest.next;
        }
        if (rest.next == rest.end) {
            rest = rests_.back();
            rests_.pop_back();
            quiet = 0;
        } else {
            ++turn;
        }
        turn = turn < rests_.size() ? turn : 0;
    }
    return offset;
}

} // namespace tilewright
