// SPDX-License-Identifier: Apache-2.0
#include "joined.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

namespace tilewright
{
namespace
{

// A tick, bytes, and an alignment; or the ticks of a lifetime, its begin, and an alignment.
using Key = std::tuple<Bytes, Bytes, Bytes>;
using Index = std::set<std::pair<Key, int>>;

// The first piece of a key in an index, or -1.
int first_of(const Index &index, const Key &key)
{
    const auto at = index.lower_bound({key, 0});
    return at != index.end() && at->first == key ? at->second : -1;
}

bool has_several(const Index &index, const Key &key)
{
    const auto at = index.lower_bound({key, 0});
    return first_of(index, key) >= 0 && std::next(at) != index.end() &&
           std::next(at)->first == key;
}

class Joiner
{
  public:
    explicit Joiner(const Lives &lives) : lives_(lives)
    {
        const auto apart = units_apart(lives);
        for (int u = 0; u < lives.problem.count(); ++u) {
            const Unit &unit = lives.problem.units[u];
            pieces_.push_back({lives.begins[u], lives.ends[u], unit.size, unit.modulus});
            const bool is_free = unit.fixed < 0 && unit.residue == 0 && apart[u].empty();
            if (is_free && unit.size > 0 && unit.size % unit.modulus == 0 &&
                lives.begins[u] < lives.ends[u]) {
                enter(u);
            }
        }
    }

    Joined run()
    {
        join_in_turn();
        while (stack_shortest()) {
            join_in_turn();
        }
        return result();
    }

  private:
    struct Piece {
        Bytes begin, end, size, modulus;
        int whole = -1; // the piece that has this one, `shift` bytes behind its begin
        Bytes shift = 0;
    };

    static Key begin_of(const Piece &piece)
    {
        return {piece.begin, piece.size, piece.modulus};
    }
    static Key end_of(const Piece &piece)
    {
        return {piece.end, piece.size, piece.modulus};
    }
    static Key life_of(const Piece &piece)
    {
        return {piece.end - piece.begin, piece.begin, piece.modulus};
    }

    void enter(int u)
    {
        const Piece &piece = pieces_[u];
        begun_.insert({begin_of(piece), u});
        ended_.insert({end_of(piece), u});
        alike_.insert({life_of(piece), u});
        if (has_several(alike_, life_of(piece))) {
            several_.insert(life_of(piece));
        }
        entered_.push_back(u);
    }

    void leave(int u, int whole, Bytes shift)
    {
        Piece &piece = pieces_[u];
        begun_.erase({begin_of(piece), u});
        ended_.erase({end_of(piece), u});
        alike_.erase({life_of(piece), u});
        if (!has_several(alike_, life_of(piece))) {
            several_.erase(life_of(piece));
        }
        piece.whole = whole;
        piece.shift = shift;
    }

    // A new piece of others, each behind the one before it in bytes or at the same bytes.
    void join(const std::vector<int> &parts, bool is_stack)
    {
        const int whole = static_cast<int>(pieces_.size());
        Piece piece = pieces_[parts.front()];
        piece.size = is_stack ? 0 : piece.size;
        for (int part : parts) {
            leave(part, whole, is_stack ? piece.size : 0);
            piece.size += is_stack ? pieces_[part].size : 0;
            piece.begin = std::min(piece.begin, pieces_[part].begin);
            piece.end = std::max(piece.end, pieces_[part].end);
        }
        pieces_.push_back(piece);
        enter(whole);
    }

    void join_in_turn()
    {
        while (!entered_.empty()) {
            const int u = entered_.back();
            entered_.pop_back();
            const Piece &piece = pieces_[u];
            if (piece.whole >= 0) {
                continue;
            }
            int other = first_of(ended_, begin_of(piece));
            if (other < 0) {
                other = first_of(begun_, end_of(piece));
            }
            if (other >= 0) {
                join({u, other}, false);
            }
        }
    }

    // Two units of one lifetime that are together as large as one that ends before them or begins
    // behind; else all of that lifetime.
    bool stack_shortest()
    {
        if (several_.empty()) {
            return false;
        }
        const auto [ticks, begin, modulus] = *several_.begin();
        std::vector<int> all;
        for (auto at = alike_.lower_bound({*several_.begin(), 0});
             at != alike_.end() && at->first == *several_.begin(); ++at) {
            all.push_back(at->second);
        }
        for (std::size_t i = 1; i < all.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                const Bytes size = pieces_[all[i]].size + pieces_[all[j]].size;
                if (first_of(ended_, {begin, size, modulus}) >= 0 ||
                    first_of(begun_, {begin + ticks, size, modulus}) >= 0) {
                    join({all[j], all[i]}, true);
                    return true;
                }
            }
        }
        join(all, true);
        return true;
    }

    Joined result()
    {
        Joined joined;
        std::vector<int> number(pieces_.size(), -1);
        const std::size_t count = lives_.begins.size();
        for (std::size_t u = 0; u < pieces_.size(); ++u) {
            const Piece &piece = pieces_[u];
            if (piece.whole >= 0) {
                continue;
            }
            number[u] = joined.lives.problem.count();
            joined.lives.problem.units.push_back(
                u < count ? lives_.problem.units[u] : Unit{piece.size, piece.modulus, 0, -1, {}});
            joined.lives.begins.push_back(piece.begin);
            joined.lives.ends.push_back(piece.end);
        }
        renumber(number, joined.lives);
        for (std::size_t u = 0; u < count; ++u) {
            int at = static_cast<int>(u);
            Bytes shift = 0;
            for (; pieces_[at].whole >= 0; at = pieces_[at].whole) {
                shift += pieces_[at].shift;
            }
            joined.whole.push_back(number[at]);
            joined.shift.push_back(shift);
        }
        return joined;
    }

    // Units with pairs are not joined, so each pair is one of the smaller problem.
    void renumber(const std::vector<int> &number, Lives &smaller) const
    {
        for (Unit &unit : smaller.problem.units) {
            for (Neighbour &neighbour : unit.neighbours) {
                neighbour.unit = number[neighbour.unit];
            }
        }
        for (const auto &[u, v] : lives_.pairs) {
            smaller.pairs.emplace_back(number[u], number[v]);
        }
        for (const auto &[u, v] : lives_.free) {
            smaller.free.emplace_back(number[u], number[v]);
        }
    }

    const Lives &lives_;
    std::vector<Piece> pieces_;
    Index begun_, ended_, alike_; // by first tick, by last tick, by lifetime
    std::set<Key> several_;       // keys of `alike_` that have several pieces
    std::vector<int> entered_;
};

} // namespace

std::vector<Bytes> Joined::apart(const std::vector<Bytes> &offsets) const
{
    std::vector<Bytes> found;
    for (std::size_t u = 0; u < whole.size(); ++u) {
        found.push_back(offsets[whole[u]] + shift[u]);
    }
    return found;
}

Joined join_units(const Lives &lives)
{
    return Joiner(lives).run();
}

} // namespace tilewright
