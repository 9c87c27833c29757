extension TextRule {
    /// What a route serves: exact, `prefix/**` for the rest, `*` for one segment.
    static let pathPattern = TextRule(
        "pattern",
        allowed: "a path such as /about, /users/*/photo or /api/**",
        pattern: "^/"
    ) { text throws(SyntaxFault) in
        guard text.first == "/" else { throw SyntaxFault("begin with /") }
        guard text.utf8.count <= 1024 else { throw SyntaxFault("write a shorter path") }
        // Routes match the reading of a path, so what a reading never holds would never match.
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && !"%?#;\\".utf8.contains($0) }) else {
            throw SyntaxFault("write the path decoded, without a query, parameters or escapes")
        }
        let segments = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            guard !segment.isEmpty || isLast else { throw SyntaxFault("write one / where several stand") }
            guard segment != ".", segment != ".." else { throw SyntaxFault("leave out the dot segments") }
            if segment == "**" {
                guard isLast else { throw SyntaxFault("let ** be the last segment") }
            } else if segment.contains("*"), segment != "*" {
                throw SyntaxFault("let * stand for a whole segment")
            }
        }
        guard segments.first != ".sallyport" else {
            throw SyntaxFault("/.sallyport is the gateway's own on every host")
        }
        return .text(text)
    }
}
