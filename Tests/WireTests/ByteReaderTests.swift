import Testing
import Wire
