/// The texts of the pages in one language.
package struct PageLanguage: Sendable, Equatable {
    /// The language tag (RFC 5646), e.g. `en` or `pt-BR`.
    package let tag: String
    private var texts: [String: String]

    /// The included languages. English, the first, has every text.
    package static let included = [Self.english, .german, .french, .spanish]

    /// The names of all texts, in the order of `sallyport texts`.
    package static let keys =
        PageText.allCases.map(\.rawValue)
        + RefusalTopic.allCases.flatMap { topic in RefusalTopic.Part.allCases.map { topic.key($0) } }

    /// - Parameter table: Lines of the form `name: text`.
    init(tag: String, table: String) {
        self.tag = tag
        self.texts = [:]
        for line in table.split(separator: "\n") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            self.texts[String(line[..<colon])] = String(line[colon...].dropFirst(2))
        }
    }

    /// Makes a language with texts of the operator.
    ///
    /// - Parameter texts: Texts by name. Missing texts come from the included language with this tag, or from English.
    package init(tag: String, texts: [String: String]) {
        let base = Self.included.first { $0.tag == tag } ?? .english
        self.tag = tag
        self.texts = base.texts.merging(texts) { $1 }
    }

    /// The text with this name, including its placeholders; `nil` if there is none.
    package subscript(key: String) -> String? { self.texts[key] }

    /// Returns a plain text, with `values` instead of its placeholders.
    package func text(_ text: PageText, _ values: KeyValuePairs<String, String> = [:]) -> String {
        Self.filled(self.texts[text.rawValue] ?? "", values) { $0 }
    }

    /// Returns an HTML text, with `values` instead of its placeholders. Texts and values are escaped. Values are
    /// emphasised, and `dir="auto"` keeps them from reversing the text around them.
    package func html(_ text: PageText, _ values: KeyValuePairs<String, String> = [:]) -> String {
        Self.filled(HTMLText.escaped(self.texts[text.rawValue] ?? ""), values) {
            "<strong dir=\"auto\">\(HTMLText.escaped($0))</strong>"
        }
    }

    /// Returns a text of a refusal's page.
    package func text(_ topic: RefusalTopic, _ part: RefusalTopic.Part) -> String { self.texts[topic.key(part)] ?? "" }

    /// Returns a wait in seconds or, above 90 seconds, in minutes. The number is at least 2: texts need only the
    /// plural.
    package func wait(seconds: Int) -> String {
        let seconds = max(2, seconds)
        return seconds <= 90
            ? self.text(.waitSeconds, ["count": String(seconds)])
            : self.text(.waitMinutes, ["count": String((seconds + 59) / 60)])
    }

    /// Returns a duration in days, hours or minutes. The number is at least 2: texts need only the plural.
    package func time(_ duration: Duration) -> String {
        let minutes = max(2, Int(duration.components.seconds / 60))
        let (text, count): (PageText, Int) =
            minutes % 1440 == 0 && minutes > 1440
            ? (.timeDays, minutes / 1440)
            : minutes % 60 == 0 && minutes > 60 ? (.timeHours, minutes / 60) : (.timeMinutes, minutes)
        return self.text(text, ["count": String(count)])
    }

    /// The direction of the language's script: `rtl` or `ltr`.
    package var direction: String {
        let parts = self.tag.lowercased().split(separator: "-").map(String.init)
        if let script = parts.dropFirst().first(where: { $0.utf8.count == 4 }) {
            return Self.rightToLeftScripts.contains(script) ? "rtl" : "ltr"
        }
        return parts.first.map(Self.rightToLeft.contains) == true ? "rtl" : "ltr"
    }

    /// Languages and scripts (ISO 15924) that are written from right to left.
    private static let rightToLeft: Set<String> = [
        "ar", "arc", "ckb", "dv", "fa", "he", "iw", "ks", "nqo", "ps", "sd", "syr", "ug", "ur", "yi",
    ]
    private static let rightToLeftScripts: Set<String> = [
        "adlm", "arab", "aran", "hebr", "nkoo", "rohg", "syrc", "thaa",
    ]

    /// Returns the names of the placeholders in a text.
    package static func placeholders(in text: String) -> Set<String> {
        var names: Set<String> = []
        var rest = text[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            names.insert(String(rest[rest.index(after: open)..<close]))
            rest = rest[rest.index(after: close)...]
        }
        return names
    }

    /// Replaces the placeholders in one pass. Values may therefore contain braces.
    private static func filled(
        _ text: String,
        _ values: KeyValuePairs<String, String>,
        _ form: (String) -> String
    ) -> String {
        var result = ""
        var rest = text[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            let name = rest[rest.index(after: open)..<close]
            result += rest[..<open]
            result += values.first { $0.key == name }.map { form($0.value) } ?? String(rest[open...close])
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }
}

extension [PageLanguage] {
    /// How many bytes of `Accept-Language` are read at most.
    private static let longestField = 256

    /// Returns the position of the language that a browser requests, or 0 if there is none (RFC 9110 12.5.4). `de` also
    /// serves `de-AT` (RFC 4647 3.4). Allocates nothing, because it runs for every page.
    ///
    /// - Parameter field: The value of `Accept-Language`.
    package func position(accepting field: UnsafeBufferPointer<UInt8>) -> Int {
        var best = (position: 0, weight: 0)
        var start = 0
        let end = Swift.min(field.count, Self.longestField)
        while start < end {
            var comma = start
            while comma < end, field[comma] != UInt8(ascii: ",") { comma += 1 }
            let range = Self.trimmed(field, start..<comma)
            start = comma + 1
            var semicolon = range.lowerBound
            while semicolon < range.upperBound, field[semicolon] != UInt8(ascii: ";") { semicolon += 1 }
            let weight = Self.weight(field, Self.trimmed(field, semicolon..<range.upperBound))
            guard weight > best.weight else { continue }
            let tag = Self.trimmed(field, range.lowerBound..<semicolon)
            if let position = self.position(of: tag, in: field) { best = (position, weight) }
        }
        return best.position
    }

    /// Returns the position of the language with this tag, or with its longest prefix.
    private func position(of tag: Range<Int>, in field: UnsafeBufferPointer<UInt8>) -> Int? {
        var best: (position: Int, length: Int)?
        for (position, language) in self.enumerated() {
            let name = language.tag.utf8
            guard name.count <= tag.count, name.count > best?.length ?? 0,
                name.count == tag.count || field[tag.lowerBound + name.count] == UInt8(ascii: "-"),
                zip(name, field[tag]).allSatisfy({ $0 | 0x20 == $1 | 0x20 })
            else { continue }
            best = (position, name.count)
        }
        return best?.position
    }

    private static func trimmed(_ field: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Range<Int> {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        var (lower, upper) = (range.lowerBound, range.upperBound)
        while lower < upper, isSpace(field[lower]) { lower += 1 }
        while lower < upper, isSpace(field[upper - 1]) { upper -= 1 }
        return lower..<upper
    }

    /// Returns a weight such as `;q=0.5` in thousandths (RFC 9110 12.4.2): 1000 if missing, 0 if malformed.
    private static func weight(_ field: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Int {
        guard !range.isEmpty else { return 1000 }
        var digits = Self.trimmed(field, (range.lowerBound + 1)..<range.upperBound)
        guard digits.count >= 3, field[digits.lowerBound] | 0x20 == UInt8(ascii: "q"),
            field[digits.lowerBound + 1] == UInt8(ascii: "=")
        else { return 0 }
        digits = (digits.lowerBound + 2)..<digits.upperBound
        guard digits.count <= 5, digits.count == 1 || field[digits.lowerBound + 1] == UInt8(ascii: ".") else {
            return 0
        }
        var weight = 0
        var unit = 1000
        for index in digits where index != digits.lowerBound + 1 {
            let digit = Int(field[index]) - 0x30
            guard (0...9).contains(digit) else { return 0 }
            weight += digit * unit
            unit /= 10
        }
        return weight <= 1000 ? weight : 0
    }
}
