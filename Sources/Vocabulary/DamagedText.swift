extension String {
    /// Whether something of the text is lost: U+FFFD stands for it (`JSONText.LoneSurrogates.replaced`). Such a text is good
    /// to read, and names nobody.
    package var isDamaged: Bool { self.utf8.contains(0xEF) && self.unicodeScalars.contains("\u{FFFD}") }
}
