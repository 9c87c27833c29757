/// A value of a YAML document, and where it begins.
struct YAMLNode {
    enum Content {
        case scalar(String, Style)
        case sequence([YAMLNode])
        /// In the order in which they are written; a key may be there twice.
        case mapping([(key: YAMLNode, value: YAMLNode)])
    }

    /// How a text is written.
    enum Style {
        case plain, singleQuoted, doubleQuoted
    }

    /// A line and a column, both from 1.
    struct Mark {
        var line = 1
        var column = 1
    }

    let content: Content
    var mark = Mark()

    /// Whether it is a plain text that stands for nothing.
    var isNull: Bool {
        guard case .scalar(let text, .plain) = self.content else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(text)
    }

    /// The kind only, never the content: a text in the place of a mapping is often a misplaced secret.
    var kind: String {
        switch self.content {
        case .scalar: self.isNull ? "nothing" : "a text"
        case .sequence: "a list"
        case .mapping: "a mapping"
        }
    }
}
