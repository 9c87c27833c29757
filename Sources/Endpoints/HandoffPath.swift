/// The path of the page where a user confirms a sign-in by link. Every host has this page.
package enum HandoffPath {
    package static let path = "/.sallyport/handoff"
}
