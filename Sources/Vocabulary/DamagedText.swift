extension String {
    /// True if the text contains U+FFFD, the replacement for half a surrogate pair
    /// (`JSONText.LoneSurrogates.replaced`). A damaged text can be displayed but does not identify a user.
    package var isDamaged: Bool { self.utf8.contains(0xEF) && self.unicodeScalars.contains("\u{FFFD}") }
}
