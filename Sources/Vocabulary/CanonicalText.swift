@_spi(_Unicode) import Swift

// Swift compares texts by canonical equivalence, and exposes its own normalization as `_nfc` and `_nfd`. Foundation's
// methods would require Foundation.
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

    /// Another encoding of this text: its composed form or, if it is composed already, its decomposed form; `nil` if
    /// both forms are equal.
    package var twin: String? {
        let (composed, decomposed) = (self.composed, self.decomposed)
        guard self.utf8.elementsEqual(composed.utf8) else { return composed }
        return self.utf8.elementsEqual(decomposed.utf8) ? nil : decomposed
    }

    private var isASCII: Bool { self.utf8.allSatisfy { $0 < 0x80 } }
}

extension StringProtocol {
    /// The text without invisible characters at its ends: white space of every kind, and zero-width marks. Keyboards,
    /// contacts and documents add such characters.
    package var withoutInvisibleEnds: String {
        var scalars = self.unicodeScalars[...]
        while let last = scalars.last, last.isInvisible { scalars.removeLast() }
        return String(String.UnicodeScalarView(scalars.drop(while: \.isInvisible)))
    }
}

extension Unicode.Scalar {
    /// True if the character is white space, a zero-width space or joiner, U+FEFF, a direction mark or a soft hyphen.
    fileprivate var isInvisible: Bool {
        self.properties.isWhitespace
            || self.properties.generalCategory == .format && self.properties.isDefaultIgnorableCodePoint
    }
}
