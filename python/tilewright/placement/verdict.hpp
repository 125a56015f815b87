// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tilewright
{

// kDoesNotFit is a proof; kBudget says that the nodes ran out.
enum class Verdict { kFits, kDoesNotFit, kBudget };

} // namespace tilewright
