import Settings
import Vocabulary

/// Reads lists that a provider writes into one text.
enum TextList {
    /// Returns the elements of the text without surrounding white space. Empty elements are left out.
    static func elements(of text: String, _ form: ClaimSettings.TextListForm) -> [String] {
        switch form {
        case .space: return text.split(whereSeparator: \.isWhitespace).map(String.init)
        case .comma:
            let trimmed = Self.trimmed(text[...])
            // `[1, 2]` is valid JSON, but contains no texts.
            if case .array(let elements)? = JSONText.decode(Array(trimmed.utf8), loneSurrogates: .replaced),
                elements.contains(where: { $0.string != nil })
            {
                return elements.compactMap(\.string).filter { !$0.isEmpty }
            }
            let isBracketed = trimmed.first == "[" && trimmed.last == "]" && trimmed.utf8.count > 1
            let inner = isBracketed ? trimmed.dropFirst().dropLast() : trimmed
            return inner.split(separator: ",").map(Self.trimmed).filter { !$0.isEmpty }.map(String.init)
        }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}
