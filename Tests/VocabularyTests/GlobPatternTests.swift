import Testing
import Vocabulary

@Suite("Patterns of names")
struct GlobPatternTests {
    @Test(
        "A star stands for any characters, and everything else for itself",
        arguments: [
            ("staff", ["staff"], ["Staff", "staff ", "", "staf", "staffs"]), ("*", ["", "a", "a/b", "\u{E4}"], []),
            ("app-*", ["app-", "app-1", "app-*"], ["app", "xapp-1"]),
            ("*-admin", ["-admin", "x-admin"], ["admin", "-admins"]),
            (
                "CN=app-*,OU=*,DC=example", ["CN=app-a,OU=b,OU=c,DC=example"],
                ["CN=app-a,DC=example", "CN=app-a,OU=b,DC=examplex"]
            ),
            ("a*b*c", ["abc", "aXbYc", "abbcc", "abcbc"], ["ab", "acb", "abcd"]), ("", [""], ["a"]),
            ("**", ["", "ab"], []),
            ("a?[b]", ["a?[b]"], ["axb", "ab"]),
        ] as [(String, [String], [String])]
    )
    func matches(pattern: String, yes: [String], no: [String]) {
        for text in yes { #expect(GlobPattern(pattern).matches(text), "\(text)") }
        for text in no { #expect(!GlobPattern(pattern).matches(text), "\(text)") }
    }

    @Test("A pattern of many stars ends soon on a long text")
    func stars() {
        let pattern = GlobPattern(String(repeating: "a*", count: 100) + "b")
        #expect(!pattern.matches(String(repeating: "a", count: 20_000)))
    }
}
