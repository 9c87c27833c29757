import Endpoints
import Testing

@Suite("Patterns of endpoints")
struct EndpointPatternTests {
    /// The values of the parameters; nil if the pattern does not match the path.
    private func parameters(_ pattern: String, _ path: String) -> [String]? {
        let pattern = EndpointPattern(pattern)
        return Array(path.utf8).withUnsafeBufferPointer { path in
            pattern.matches(path) ? pattern.parameters(of: path).map { "\($0.name)=\($0.value)" } : nil
        }
    }

    @Test(
        "A parameter matches one non-empty segment, and a literal segment matches itself",
        arguments: [
            ("/clients", "/clients", [String]()), ("/clients", "/clientz", nil), ("/clients", "/clients/", nil),
            ("/clients", "/client", nil), ("/", "/", []), ("/", "/x", nil),
            ("/clients/{id}", "/clients/a", ["id=a"]), ("/clients/{id}", "/clients/a%2Fb", ["id=a%2Fb"]),
            ("/clients/{id}", "/clients/", nil), ("/clients/{id}", "/clients", nil),
            ("/clients/{id}", "/clients/a/", nil), ("/clients/{id}", "/clients/a/b", nil),
            ("/clients/{id}", "/clients//a", nil), ("/clients/{id}", "/client/ab", nil),
            ("/a/{x}/b/{y}", "/a/1/b/2", ["x=1", "y=2"]), ("/a/{x}/b/{y}", "/a/1/c/2", nil),
            ("/a/{x}/b/{y}", "/a/1/b/", nil), ("/a/{x}/b/{y}", "/a//b/2", nil), ("/{x}", "/a", ["x=a"]),
            ("/{x}", "/", nil), ("/a/{x}/b", "/a/1/bb", nil), ("/a/{x}/bb", "/a/1/b", nil),
            ("/a/**", "/a/", []), ("/a/**", "/a/b", []), ("/a/**", "/a/b/c/", []), ("/a/**", "/a", nil),
            ("/a/**", "/ab/c", nil), ("/a/{x}/**", "/a/1/b/c", ["x=1"]), ("/a/{x}/**", "/a/1", nil), ("/**", "/", []),
            // Not parameters, because the braces do not enclose the whole segment or a name.
            ("/a/x{id}", "/a/xy", nil), ("/a/x{id}", "/a/x{id}", []), ("/a/{}", "/a/b", nil), ("/a/{}", "/a/{}", []),
        ] as [(String, String, [String]?)]
    )
    func taking(pattern: String, path: String, expected: [String]?) {
        #expect(self.parameters(pattern, path) == expected)
    }

    @Test("An empty path matches no pattern")
    func empty() {
        #expect(self.parameters("/", "") == nil && self.parameters("/{x}", "") == nil)
    }

    @Test("Patterns that differ only in the names of their parameters match the same paths")
    func same() {
        let pattern = EndpointPattern("/clients/{id}")
        #expect(pattern.matchesSamePaths(as: EndpointPattern("/clients/{client}")))
        #expect(!pattern.matchesSamePaths(as: EndpointPattern("/clients/id")))
        #expect(!pattern.matchesSamePaths(as: EndpointPattern("/client/{id}")))
        #expect(!pattern.matchesSamePaths(as: EndpointPattern("/clients/{id}/x")))
    }

    @Test("A pattern that takes the rest comes after those that do not, and the longest of them first")
    func restOrder() {
        let sorted = ["/**", "/a/**", "/a/{x}/**", "/a/b/**", "/a/{x}", "/{y}"]
            .map { EndpointPattern($0) }.sorted { $0.precedes($1) }.map(\.text)
        #expect(sorted == ["/{y}", "/a/{x}", "/a/b/**", "/a/{x}/**", "/a/**", "/**"])
        #expect(
            !EndpointPattern("/a/**").isExact
                && !EndpointPattern("/a/**").matchesSamePaths(as: EndpointPattern("/a/{x}"))
        )
    }

    @Test("A pattern with a literal segment earlier has precedence")
    func order() {
        let sorted = ["/{a}/{b}/{c}", "/{a}/x/{c}", "/x/{b}/{c}", "/{a}/x/y", "/x/{b}/y", "/{a}"]
            .map { EndpointPattern($0) }.sorted { $0.precedes($1) }.map(\.text)
        #expect(sorted == ["/{a}", "/x/{b}/y", "/x/{b}/{c}", "/{a}/x/y", "/{a}/x/{c}", "/{a}/{b}/{c}"])
    }
}
