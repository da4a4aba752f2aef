// Ops that move, repeat or leave out elements, and those that give them another
// shape, which shares the bytes. Backends have them in common: elements are
// moved by copy_block. Inputs that say where are on the host. Internal to
// kernels.
#pragma once

#include "runtime/preparation.h"

namespace ruleengine::kernels::moves {

runtime::Op concat(const runtime::Preparation& p);
runtime::Op depth_to_space(const runtime::Preparation& p);
runtime::Op expand(const runtime::Preparation& p);
runtime::Op flatten(const runtime::Preparation& p);
runtime::Op identity(const runtime::Preparation& p);
runtime::Op reshape(const runtime::Preparation& p);
runtime::Op slice(const runtime::Preparation& p);
runtime::Op space_to_depth(const runtime::Preparation& p);
runtime::Op split(const runtime::Preparation& p);
runtime::Op squeeze(const runtime::Preparation& p);
runtime::Op tile(const runtime::Preparation& p);
runtime::Op transpose(const runtime::Preparation& p);
runtime::Op unsqueeze(const runtime::Preparation& p);

}  // namespace ruleengine::kernels::moves
