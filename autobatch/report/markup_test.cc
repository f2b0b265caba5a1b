#include "autobatch/report/markup.h"

#include <gmock/gmock.h>

namespace autobatch {
namespace {

using ::testing::HasSubstr;

TEST(EscapeHtmlTest, Markup_BecomesText) {
  EXPECT_EQ(EscapeHtml("<b a=\"1\" c='2'>&amp;"),
            "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
}

TEST(EscapeHtmlTest, ControlCharactersAndInvalidUtf8_AreShown) {
  EXPECT_EQ(EscapeHtml(absl::string_view("a\0b\x1b\xff", 5)), "a\\x00b\\x1b\\xff");
}

TEST(HtmlTableTest, WordsAndNumbers_AreAlignedApart) {
  const std::string html = HtmlTable("A & B", {"<Name", "Bytes"}, {{"x", "1"}});
  EXPECT_THAT(html, HasSubstr("<caption>A &amp; B</caption>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"col\" class=\"words\">Name</th>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\" class=\"words\"><div>x</div></th><td>1</td>"));
}

}  // namespace
}  // namespace autobatch
