// SPDX-License-Identifier: Apache-2.0
// The search for offsets in one pool, by ways that follow the size of the problem.
#pragma once

#include "lives.hpp"
#include "solve.hpp"

namespace tilewright
{

// First fit, where nothing is lower; else joined units, where nothing is lower; else the exact search
// if its lists fit in memory, or reinsertion.
Answer search_pool(const Lives &lives, const Request &request);

} // namespace tilewright
