import Foundation

/// The part of the WHATWG URL parser that decides whether an input on `https://app.example.com/` leads to another host.
package enum WHATWG {
    /// An entry of the corpus.
    package struct Entry: Sendable {
        package let input: String
        /// nil: the input is parsed without a base.
        package let base: String?
        /// The authority of the result; nil if there is none.
        package let host: String?
        /// Whether the input cannot be parsed.
        package let isFailure: Bool
    }

    /// The corpus of the Web Platform Tests, in which lone surrogates are replaced, because no Swift string can hold
    /// them.
    package static func corpus() throws -> [Entry] {
        var text = try TestData.bytes("wpt_urltestdata.json")
        for index in text.indices.dropLast(5)
        where text[index] == UInt8(ascii: "\\") && text[index + 1] == UInt8(ascii: "u")
            && (text[index + 2] | 0x20) == UInt8(ascii: "d") && text[index + 3] >= UInt8(ascii: "8")
        {
            text.replaceSubrange((index + 2)..<(index + 6), with: "fffd".utf8)
        }
        let entries = try JSONSerialization.jsonObject(with: Data(text)) as? [Any] ?? []
        return entries.compactMap { entry in
            guard let members = entry as? [String: Any], let input = members["input"] as? String else { return nil }
            return Entry(
                input: input,
                base: members["base"] as? String,
                host: members["host"] as? String,
                isFailure: members["failure"] != nil
            )
        }
    }

    /// An input of the corpus, and how an attacker would vary it for a parameter that takes paths.
    package static func variants(of input: String) -> [String] {
        [input, "/\(input)", "/a/\(input)", "//\(input)", "/\\\(input)", "/.\(input)", "\t\(input)"]
    }

    /// Whether a browser on `https://app.example.com/` that is sent to `input` stays on the host.
    package static func staysOnHost(_ input: String) -> Bool {
        // Remove leading and trailing C0 controls and spaces, then every tab and newline.
        var scalars = ArraySlice(Array(input.unicodeScalars))
        while let first = scalars.first, first.value <= 0x20 { scalars.removeFirst() }
        while let last = scalars.last, last.value <= 0x20 { scalars.removeLast() }
        let text = scalars.filter { !["\t", "\n", "\r"].contains($0) }
        // Scheme start state and scheme state.
        if let first = text.first, first.properties.isAlphabetic, first.isASCII {
            let others = "0123456789+-.".unicodeScalars
            let rest = text.drop { $0.isASCII && ($0.properties.isAlphabetic || others.contains($0)) }
            if rest.first == ":" { return false }
        }
        // Relative state and relative slash state, where `\` equals `/` in a special scheme.
        let slashes = text.prefix { $0 == "/" || $0 == "\\" }
        return slashes.count < 2
    }

    /// The authority of an http or https URL without userinfo.
    package static func host(ofHTTP url: String) -> String? {
        guard url.hasPrefix("http://") || url.hasPrefix("https://") else { return nil }
        let authority = url.drop { $0 != "/" }.dropFirst(2).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        return authority.split(separator: "@").last.map { $0.lowercased() }
    }
}
