// The reference of the rule language: what it says of a word, and stubs for
// editors. The pages and the stubs lie beside the rules that ship.
#pragma once

#include <string>
#include <vector>

#include "bindings/lua/reference.h"
#include "core/base/result.h"

namespace ruleengine::api {

using lua::DescribedWord, lua::Passage, lua::Reference;

// What the pages say of a word. Fails for a word of which they say nothing,
// with those that are like it.
Result<Reference> reference(const std::string& word);
Result<std::vector<DescribedWord>> described_words();

// LuaCATS of the language; from the pages in `folder`, or from those that
// ship.
Result<std::string> language_stubs(const std::string& folder = "");
// A configuration for lua-language-server, that names the installed stubs.
Result<std::string> editor_configuration();

}  // namespace ruleengine::api
