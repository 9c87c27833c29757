import Testing

/// Rules for the tests themselves, so that each can fail, and none waits for ever.
@Suite struct TestRulesTests {
    private struct Line {
        let place: String
        let text: Substring

        var indent: Int { self.text.prefix { $0 == " " }.count }
        var code: Substring { self.text.dropFirst(self.indent) }
    }

    /// Without this file, which contains what it forbids.
    private static func files() throws -> [[Line]] {
        try PackageFiles.swift(below: "Tests").filter { !$0.hasSuffix("/TestRulesTests.swift") }.map { path in
            try PackageFiles.text(path).split(separator: "\n", omittingEmptySubsequences: false).enumerated()
                .map { Line(place: "\(path):\($0 + 1)", text: $1) }
        }
    }

    private static func places(of pattern: some RegexComponent) throws -> [String] {
        try self.files().joined().filter { !$0.code.hasPrefix("//") && $0.text.contains(pattern) }.map(\.place)
    }

    /// `waitUntil` and `eventually` have deadlines.
    @Test func waitsEndAtADeadline() throws {
        let poll = /\bwhile [^<]*\{ (try\?? )?(await )?(Task\.sleep|Task\.yield|usleep|sched_yield)\(/
        #expect(try Self.places(of: poll) == [])
    }

    /// `SeededNumbers` repeats what has failed. Names and secrets may differ each time.
    @Test func inputsCanBeRepeated() throws {
        let random = /\bSystemRandomNumberGenerator\(|\.shuffled\(\)|\.randomElement\(\)/
        #expect(try Self.places(of: random) == [])
    }

    /// `#require` reports its failure although the step is tried again. A step throws, or returns what is compared later.
    @Test func stepsThatAreRepeatedReportNothing() throws {
        var places: [String] = []
        for lines in try Self.files() {
            for start in lines.indices
            where lines[start].text.contains(/\b(waitUntil|eventually|patiently|untilAnswered)\b.*\{/) {
                let step = lines[(start + 1)...].prefix { $0.indent > lines[start].indent }
                places += (lines[start...start] + step).filter { $0.text.contains("#require") }.map(\.place)
            }
        }
        #expect(places == [])
    }

    /// What a test needs it requires: a program by `.enabled(if:)` or `Servers.missing`, a value by `#require`.
    @Test func noTestEndsBeforeItHasExpectedAnything() throws {
        var (tests, early) = (0, [String]())
        for lines in try Self.files() {
            var rest = lines[...]
            while let start = rest.firstIndex(where: { $0.code.hasPrefix("@Test") }),
                let head = rest[start...].firstIndex(where: { $0.text.contains(#/\bfunc /#) })
            {
                tests += 1
                let indent = lines[head].indent
                let body = rest[head...].dropFirst().prefix { $0.indent > indent || $0.text.isEmpty }
                let checked = body.firstIndex {
                    $0.text.contains(#/#expect|#require|Issue\.record|\bexpect[A-Z]\w*\(/#)
                }
                for line in body[..<(checked ?? body.endIndex)] where line.indent == indent + 4 {
                    if line.code.contains(/^guard .* else \{ return \}/) { early.append(line.place) }
                }
                rest = rest[body.endIndex...]
            }
        }
        #expect(tests > 2000)
        #expect(early == [])
    }
}
