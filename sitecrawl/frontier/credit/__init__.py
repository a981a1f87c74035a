"""AOPIC: page importance computed while crawling, as credit that flows along links."""
