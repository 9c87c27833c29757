import Settings

/// The JSON Schema (2020-12) of the settings file, made from the table of keys.
enum JSONSchema {
    /// The text of `Config/sallyport.schema.json`.
    static var text: String {
        var members: [(String, JSONText)] = [
            ("$schema", .text("https://json-schema.org/draft/2020-12/schema")),
            ("title", .text("Sallyport settings")),
        ]
        members += self.object(of: .file)
        return JSONText.object(members).text(indent: 0) + "\n"
    }

    private static func object(of section: Section) -> [(String, JSONText)] {
        let required = section.keys.filter(\.isRequired).map { JSONText.text($0.name) }
        return [
            ("type", .text("object")),
            ("additionalProperties", .word("false")),
        ] + (required.isEmpty ? [] : [("required", .array(required))]) + [
            ("properties", .object(section.keys.map { ($0.name, self.property($0)) }))
        ]
    }

    private static func property(_ key: SettingsKey) -> JSONText {
        .object([("description", .text(key.summary))] + self.members(of: key.kind))
    }

    private static func members(of kind: SettingKind) -> [(String, JSONText)] {
        switch kind {
        case .boolean: [("type", .text("boolean"))]
        case .integer(let range):
            [
                ("type", .text("integer")),
                ("minimum", .word("\(range.lowerBound)")),
                ("maximum", .word("\(range.upperBound)")),
            ]
        case .duration(_, orOff: true):
            [("type", .text("string")), ("pattern", .text("^([0-9]{1,15}(ms|s|m|h|d)|off)$"))]
        case .duration: [("type", .text("string")), ("pattern", .text("^[0-9]{1,15}(ms|s|m|h|d)$"))]
        case .size(_, let orNone):
            [
                ("type", .array([.text("integer"), .text("string")])),
                ("minimum", .word("0")),
                ("pattern", .text("^([0-9]{1,15}(KiB|MiB|GiB)?\(orNone ? "|none" : ""))$")),
            ]
        case .choice(let words):
            // To a YAML editor an unquoted 401 is a number.
            [("enum", .array(words.flatMap { Int($0) == nil ? [.text($0)] : [.text($0), .word($0)] }))]
        case .text(let rule) where rule.bounds != nil:
            // To a YAML editor an unquoted one is a number.
            [
                ("type", .array([.text("number"), .text("string")])),
                ("minimum", .word("\(rule.bounds?.lowerBound ?? 0)")),
                ("maximum", .word("\(rule.bounds?.upperBound ?? 0)")),
            ] + (rule.pattern.map { [("pattern", .text($0))] } ?? [])
        case .text(let rule), .secret(let rule):
            [("type", .text("string"))] + (rule.pattern.map { [("pattern", .text($0))] } ?? [])
        case .path: [("type", .text("string")), ("minLength", .word("1"))]
        case .list(let element):
            [
                (
                    "anyOf",
                    .array([
                        .object(self.members(of: element)),
                        .object([("type", .text("array")), ("items", .object(self.members(of: element)))]),
                    ])
                )
            ]
        case .section(let section): self.object(of: section)
        case .sections(let section): [("type", .text("array")), ("items", .object(self.object(of: section)))]
        case .shorthand(let name, let section):
            [
                (
                    "anyOf",
                    .array(
                        [section[name].map { .object(self.members(of: $0.kind)) }, .object(self.object(of: section))]
                            .compactMap(\.self)
                    )
                )
            ]
        case .named(let section):
            [("type", .text("object")), ("additionalProperties", .object(self.object(of: section)))]
        case .pairs(let name, let value):
            [
                ("type", .text("object")),
                ("propertyNames", .object(self.members(of: .text(name)))),
                ("additionalProperties", .object(self.members(of: value))),
            ]
        case .document: [("type", .text("object"))]
        }
    }
}

/// JSON whose members keep their order.
private indirect enum JSONText {
    case word(String)
    case text(String)
    case array([JSONText])
    case object([(String, JSONText)])

    func text(indent: Int) -> String {
        let margin = String(repeating: "  ", count: indent + 1)
        let end = "\n" + String(repeating: "  ", count: indent)
        switch self {
        case .word(let word): return word
        case .text(let text): return Self.quoted(text)
        case .array(let elements):
            let isFlat = elements.allSatisfy { if case .object = $0 { false } else { true } }
            let texts = elements.map { $0.text(indent: indent + 1) }
            return isFlat
                ? "[\(texts.joined(separator: ", "))]"
                : "[\n" + margin + texts.joined(separator: ",\n" + margin) + end + "]"
        case .object(let members):
            let texts = members.map { "\(Self.quoted($0.0)): \($0.1.text(indent: indent + 1))" }
            return "{\n" + margin + texts.joined(separator: ",\n" + margin) + end + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
