@_spi(_Unicode) import Swift

// Swift compares texts by canonical equivalence, and has what it needs for that under these names; Foundation's methods
// would bring Foundation.
extension String {
    /// The same text in Unicode's normalization form C (UAX #15): `é` is one character where it can be.
    package var composed: String {
        guard !self.isASCII else { return self }
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: self._nfc)
        return String(scalars)
    }

    /// The same text in Unicode's normalization form D (UAX #15): `é` is an `e` and an accent.
    package var decomposed: String {
        guard !self.isASCII else { return self }
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: self._nfd)
        return String(scalars)
    }

    /// How others may have typed the same text: the composed form, or the decomposed one of a text that is composed; nil
    /// where both are the same.
    package var twin: String? {
        let (composed, decomposed) = (self.composed, self.decomposed)
        guard self.utf8.elementsEqual(composed.utf8) else { return composed }
        return self.utf8.elementsEqual(decomposed.utf8) ? nil : decomposed
    }

    private var isASCII: Bool { self.utf8.allSatisfy { $0 < 0x80 } }
}

extension StringProtocol {
    /// The text without what a person does not see at its ends: white space of every kind, and marks without width, such as
    /// those that keyboards, contacts and documents add.
    package var withoutInvisibleEnds: String {
        var scalars = self.unicodeScalars[...]
        while let last = scalars.last, last.isInvisible { scalars.removeLast() }
        return String(String.UnicodeScalarView(scalars.drop(while: \.isInvisible)))
    }
}

extension Unicode.Scalar {
    /// U+0009 to U+000D, spaces, separators; zero-width space and joiners, U+FEFF, marks of direction, soft hyphen.
    fileprivate var isInvisible: Bool {
        self.properties.isWhitespace
            || self.properties.generalCategory == .format && self.properties.isDefaultIgnorableCodePoint
    }
}
