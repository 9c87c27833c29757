import Vocabulary

/// A template for pages: an HTML document with placeholders such as `{{content}}`.
package struct PageTemplate: Sendable, Equatable {
    /// A placeholder in a template.
    package enum Placeholder: String, CaseIterable, Sendable {
        /// The language, for the attribute `lang`.
        case language
        /// The direction of the script, `ltr` or `rtl`, for the attribute `dir`.
        case direction
        /// The page's title.
        case title
        /// The page's title and the site's name or host, for the element `title`.
        case windowTitle = "window_title"
        /// The site's name (`pages.name`).
        case name
        /// The stylesheet and the icon, for the head.
        case style
        /// The logo or, without a logo, the site's name.
        case brand
        /// The page's texts, forms and links.
        case content
        /// The link to `pages.support_url`.
        case support
    }

    /// Why a text is not a valid template. The sentence follows the word "found".
    package struct Fault: Error, Equatable {
        package let sentence: String

        package init(sentence: String) {
            self.sentence = sentence
        }
    }

    private enum Part: Equatable {
        case text(String)
        case placeholder(Placeholder)
    }

    private let parts: [Part]

    /// The maximum size of a template in bytes.
    package static let longest = 65_536
    /// The placeholders that a template must contain exactly once. Pages and screen readers need them.
    private static let required: [Placeholder] = [.language, .style, .content]
    /// The elements that the pages' content security policy forbids.
    private static let forbidden = ["<script", "<style", "<link", "<base", "<iframe", "<object"]

    /// - Throws: `Fault` for an unknown or unclosed placeholder, a missing or repeated required placeholder, or a
    ///   forbidden element.
    package init(_ text: String) throws(Fault) {
        var parts: [Part] = []
        var rest = text[...]
        while let open = rest.firstRange(of: "{{") {
            guard let close = rest[open.upperBound...].firstRange(of: "}}") else {
                throw Fault(sentence: "{{ without }}")
            }
            let name = String(rest[open.upperBound..<close.lowerBound].filter { $0 != " " })
            guard let placeholder = Placeholder(rawValue: name) else {
                throw Fault(sentence: "the unknown placeholder {{\(name.prefix(40))}}")
            }
            parts.append(.text(String(rest[..<open.lowerBound])))
            parts.append(.placeholder(placeholder))
            rest = rest[close.upperBound...]
        }
        parts.append(.text(String(rest)))
        for placeholder in Self.required {
            let count = parts.count { $0 == .placeholder(placeholder) }
            guard count == 1 else {
                throw Fault(sentence: "\(count == 0 ? "no" : "more than one") {{\(placeholder.rawValue)}}")
            }
        }
        let lower = text.lowercased()
        if let element = Self.forbidden.first(where: { lower.utf8.contains($0.utf8) }) {
            throw Fault(sentence: "\(element)>, which the pages' policy forbids")
        }
        self.parts = parts
    }

    /// Makes a template from valid parts.
    private init(parts: [Part]) {
        self.parts = parts
    }

    func rendered(_ value: (Placeholder) -> String) -> String {
        var text = ""
        for part in self.parts {
            switch part {
            case .text(let literal): text += literal
            case .placeholder(let placeholder): text += value(placeholder)
            }
        }
        return text
    }

    /// The default template.
    package static let included = PageTemplate(parts: [
        .text("<!DOCTYPE html>\n<html lang=\""), .placeholder(.language), .text("\" dir=\""),
        .placeholder(.direction),
        .text(
            """
            ">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="robots" content="noindex">
            <title>
            """
        ),
        .placeholder(.windowTitle), .text("</title>\n"), .placeholder(.style),
        .text("\n</head>\n<body>\n<main>\n"), .placeholder(.brand), .text("<h1>"), .placeholder(.title),
        .text("</h1>\n"),
        .placeholder(.content), .placeholder(.support), .text("\n</main>\n</body>\n</html>\n"),
    ])
}
