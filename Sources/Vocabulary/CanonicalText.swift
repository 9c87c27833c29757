@_spi(_Unicode) import Swift

// `_nfc` and `_nfd` are the standard library's own normalization. The public alternative would require Foundation.
extension String {
    /// The text in Unicode's normalization form C (UAX #15), in which `é` is one code point.
    package var composed: String {
        guard !self.isASCII else { return self }
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: self._nfc)
        return String(scalars)
    }

    /// The text in Unicode's normalization form D (UAX #15), in which `é` is two code points, `e` and an accent.
    package var decomposed: String {
        guard !self.isASCII else { return self }
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: self._nfd)
        return String(scalars)
    }

    /// The text in the other normalization form: NFC, or NFD if it is in NFC already; `nil` if it is in both.
    package var twin: String? {
        let (composed, decomposed) = (self.composed, self.decomposed)
        guard self.utf8.elementsEqual(composed.utf8) else { return composed }
        return self.utf8.elementsEqual(decomposed.utf8) ? nil : decomposed
    }

    private var isASCII: Bool { self.utf8.allSatisfy { $0 < 0x80 } }
}

extension StringProtocol {
    /// The text without white space and zero-width characters at its ends. Such characters often come with pasted text.
    package var withoutInvisibleEnds: String {
        var scalars = self.unicodeScalars[...]
        while let last = scalars.last, last.isInvisible { scalars.removeLast() }
        return String(String.UnicodeScalarView(scalars.drop(while: \.isInvisible)))
    }
}

extension Unicode.Scalar {
    /// True if the character is white space or an ignorable format character, such as a zero-width space, U+FEFF, a
    /// direction mark or a soft hyphen.
    fileprivate var isInvisible: Bool {
        self.properties.isWhitespace
            || self.properties.generalCategory == .format && self.properties.isDefaultIgnorableCodePoint
    }
}
