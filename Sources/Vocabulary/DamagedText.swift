extension String {
    /// True if the text contains U+FFFD, the replacement for unreadable parts (`JSONText.LoneSurrogates.replaced`). A
    /// damaged text can be displayed, but identifies no user.
    package var isDamaged: Bool { self.utf8.contains(0xEF) && self.unicodeScalars.contains("\u{FFFD}") }
}
