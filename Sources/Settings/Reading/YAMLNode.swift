/// A value of a YAML document and its position.
struct YAMLNode {
    enum Content {
        case scalar(String, Style)
        case sequence([YAMLNode])
        /// The pairs in the order in which they are written. A key may appear twice.
        case mapping([(key: YAMLNode, value: YAMLNode)])
    }

    /// The quoting of a text.
    enum Style {
        case plain, singleQuoted, doubleQuoted
    }

    /// A line and a column, both starting at 1.
    struct Mark {
        var line = 1
        var column = 1
    }

    let content: Content
    var mark = Mark()

    /// Whether the value is a plain text that means null.
    var isNull: Bool {
        guard case .scalar(let text, .plain) = self.content else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(text)
    }

    /// The kind of the value, never its content: a text where a mapping is expected is often a misplaced secret.
    var kind: String {
        switch self.content {
        case .scalar: self.isNull ? "nothing" : "a text"
        case .sequence: "a list"
        case .mapping: "a mapping"
        }
    }
}
