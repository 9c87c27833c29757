/// The path of the page on every host where the user confirms a sign-in by link.
package enum HandoffPath {
    package static let path = "/.sallyport/handoff"
}
