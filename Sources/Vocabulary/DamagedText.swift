extension String {
    /// Whether a part of the text was replaced by U+FFFD (`JSONText.LoneSurrogates.replaced`). A damaged text can be
    /// read, but names nobody.
    package var isDamaged: Bool { self.utf8.contains(0xEF) && self.unicodeScalars.contains("\u{FFFD}") }
}
